"""Fix benchmark: the fixes of whole releases are applied in memory; does each do its work and nothing else?

    python -m evaluation.fixes [--only TEXT] [--tree FOLDER … | --foreign [--mirrors DIR]] [--diff] [--verbose]

Every release is linted as one project and fixed twice: with the safe fixes, and with the unsafe ones as well. Each
fixed file must parse and compile, stay unchanged in a second run and have no new finding. It must keep its comments,
line ends and encoding, all statements that have nothing to do with a finding, and the conditions around those that
stay, except rank tests. The sites of TRL's own bug in 0.13.0 (DPO, CPO, ORPO) are listed with the result. Exit code 1
when a check fails.

`--tree` takes the code in a folder instead of the releases, `--foreign` the commits of other code bases
(`cases/foreign.json`), one after the other, from bare mirrors as `evaluation.foreign` does. `--diff` shows every fix,
`--verbose` the place of every finding that has only a hint.
"""

from __future__ import annotations

import argparse
import ast
import codecs
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

from evaluation.checkouts import Checkout, NotToBeHad, tree_of
from evaluation.common import FAILED, NOT_RUN, PASSED, new_linter, python_files, run, symbols, table
from evaluation.conditions import conditions_lost
from evaluation.corpora import TRANSFORMERS, TRL, Corpus
from evaluation.history import load
from evaluation.lines import carried
from evaluation.mending import NO_FIX
from evaluation.releases import Release
from trl_lint.findings import Applicability, Finding
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError
from trl_lint.linter.rewriting.fixing import uncovered_by
from trl_lint.linter.rewriting.hunks import Hunk, hunks
from trl_lint.rules import find_rule

CORPORA = (
    Corpus(Release("trl", "0.13.0")),
    Corpus(Release("trl", "0.14.0")),
    Corpus(Release("trl", "0.16.1")),
    TRL,
    TRANSFORMERS,
    # The index has no release of accelerate with its examples; these are the loops of its source distribution.
    Corpus(
        Release("accelerate", "1.15.0", "sdist"),
        ("examples/**/*.py", "tests/**/*.py", "src/accelerate/test_utils/scripts/**/*.py"),
    ),
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MODES = {False: "safe", True: "safe + unsafe"}
# The bug of the history that has a fix at every site.
SITES = ("TRL-2474-dpo", "TRL-2474-cpo", "TRL-2474-orpo")


# --- one fixed file -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A file before and after its fixes, and the findings it had."""

    before: bytes
    after: bytes
    findings: tuple[Finding, ...]

    @property
    def encoding(self) -> str:
        return tokenize.detect_encoding(io.BytesIO(self.before).readline)[0]

    def texts(self) -> tuple[str, str]:
        return self.before.decode(self.encoding), self.after.decode(self.encoding)


def parses(pair: Pair) -> str:
    """Why the fixed file does not compile."""
    try:
        compile(pair.after, "mended.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return str(error)
    return ""


def keeps_form(pair: Pair) -> str:
    """What has changed in the encoding, the byte order mark and the line ends."""
    try:
        before, after = pair.texts()
    except UnicodeDecodeError as error:
        return f"the encoding has changed: {error}"
    if pair.before.startswith(codecs.BOM_UTF8) != pair.after.startswith(codecs.BOM_UTF8):
        return "the byte order mark came or went"
    if not line_ends(after) <= line_ends(before):
        return f"line ends {sorted(line_ends(after) - line_ends(before))} are new"
    ends = re.compile(r"(\r\n|\r|\n)\Z")
    return "" if bool(ends.search(before)) == bool(ends.search(after)) else "the end of the last line came or went"


def line_ends(text: str) -> set[str]:
    return set(re.findall(r"\r\n|\r|\n", text))


def keeps_comments(pair: Pair) -> str:
    """Which comments are missing or new."""
    before, after = comments(pair.before), comments(pair.after)
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if gone or new:
        return f"comments gone: {list(gone.elements())}, new: {list(new.elements())}"
    return "" if before == after else "the comments have another order"


def comments(source: bytes) -> list[str]:
    """The comments of a file, in order."""
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def touches_only_its_findings(pair: Pair) -> str:
    """Which changed lines have nothing to do with a finding."""
    before, after = (text.split("\n") for text in pair.texts())
    ground = Ground("\n".join(before), pair.findings)
    changes = hunks(before, after)
    # A diff may show an unchanged line between two moved ones as removed here and added there.
    kept = {line for hunk in changes for line in after[hunk.start : hunk.end]}
    strange = [hunk for hunk in changes if not ground.allows(hunk, after[hunk.start : hunk.end], kept)]
    places = [f"{hunk.first + 1}-{hunk.last}" if hunk.last > hunk.first else f"{hunk.first + 1}" for hunk in strange]
    return f"changed lines that have no finding: {', '.join(places)}" if places else ""


class Ground:
    """The lines of a file that its fixes may change."""

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        tree = ast.parse(text)
        self.lines: set[int] = set()
        # A new line may be added before one of these lines.
        self.gaps: set[int] = set()
        # Names may be added to these imports.
        self.imports: set[int] = set()
        # These may get another indentation.
        self.indented: set[int] = set()
        statements = list(_statements(tree, ()))
        self._text = text.split("\n")
        for line in {line for finding in findings for line in _lines_of(finding)}:
            around = max((chain for chain in statements if _spans(chain[-1], line)), key=len, default=())
            self._add(around)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                self.gaps.update(range(node.body[0].lineno, node.end_lineno + 2))
            if isinstance(node, ast.ImportFrom):
                self.imports.update(range(node.lineno, node.end_lineno + 1))

    def _add(self, around: Sequence[ast.stmt]) -> None:
        if not around:
            return
        own = around[-1]
        # The comments above it are indented with it.
        self.lines.update(range(self._top(own), _head_end(own) + 1))
        # An argument may be added to a call of several lines, and a block may be put under a condition.
        self.gaps.update(range(own.lineno, _head_end(own) + 1))
        if isinstance(own, ast.With):
            self.indented.update(range(own.lineno, own.end_lineno + 1))
        above = around[-2] if len(around) > 1 else None
        if isinstance(above, ast.If) and own in above.body:
            # The rank test that kept other ranks away may be removed.
            self.lines.update(range(above.lineno, _head_end(above) + 1))
            self.indented.update(range(above.lineno, above.body[-1].end_lineno + 1))
        functions = [index for index, node in enumerate(around) if isinstance(node, FUNCTIONS)]
        inside = around[functions[-1] + 1 :] if functions else around
        read = {node.id for node in ast.walk(own) if isinstance(node, ast.Name)}
        for node in ast.walk(around[functions[-1]] if functions else own):
            # A logged value is gathered where it is bound.
            if isinstance(node, ast.Assign) and read & {each.id for each in node.targets if isinstance(each, ast.Name)}:
                self.lines.update(range(node.lineno, node.end_lineno + 1))
                self.gaps.update((self._top(node), node.lineno, node.end_lineno + 1))
        for node in inside or (own,):
            self.gaps.update((self._top(node), node.lineno, _head_end(node) + 1))

    def _top(self, node: ast.stmt) -> int:
        """The first line of the comments above a statement, which stay with it."""
        line = node.lineno
        while line > 1 and self._text[line - 2].lstrip().startswith("#"):
            line -= 1
        return line

    def allows(self, hunk: Hunk, new: Sequence[str], kept: Collection[str] = ()) -> bool:
        """Whether a change is in a line with a finding, next to one, an import, or new in an `__init__`.

        kept: lines of the new text, which are unchanged although a hunk removes them.
        """
        if hunk.first < hunk.last:
            lines = range(hunk.first, hunk.last)
            if all(line + 1 in self.imports for line in lines):
                return _names_in("\n".join(self._text[line] for line in lines)) <= _names_in("\n".join(new))
            moved = {each.strip() for each in kept}
            return all(
                line + 1 in self.lines
                or self._text[line] in kept
                or (line + 1 in self.indented and self._text[line].strip() in moved)
                for line in lines
            )
        return hunk.first + 1 in self.gaps or all(_is_import(line) for line in new)


def _lines_of(finding: Finding) -> Iterator[int]:
    """The lines of a finding in its own file: its fix may be one for all places of its cause."""
    yield finding.start.line
    yield from (each.start.line for each in finding.also if each.path == finding.path)


def _statements(node: ast.AST, around: tuple[ast.stmt, ...]) -> Iterator[tuple[ast.stmt, ...]]:
    """Every statement with those around it, from the outermost."""
    for child in ast.iter_child_nodes(node):
        chain = (*around, child) if isinstance(child, ast.stmt) else around
        if isinstance(child, ast.stmt):
            yield chain
        yield from _statements(child, chain)


def _spans(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= _head_end(statement)


def _head_end(statement: ast.stmt) -> int:
    """The last line of a statement; of a compound one, the last before its body."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _names_in(text: str) -> set[str]:
    return set(re.findall(r"[\w.]+", text))


def _is_import(line: str) -> bool:
    return not line.strip() or line.startswith(("import ", "from "))


def keeps_conditions(pair: Pair) -> str:
    """Which statements have lost a condition."""
    return conditions_lost(*pair.texts())


CHECKS: dict[str, Callable[[Pair], str]] = {
    "parses": parses,
    "form": keeps_form,
    "comments": keeps_comments,
    "elsewhere": touches_only_its_findings,
    "conditions": keeps_conditions,
}
# Those of a whole release, once all of its files are fixed.
TOGETHER = ("new", "again")


def check(pair: Pair) -> list[str]:
    """The checks that a fixed file fails, each with the reason; if it does not parse, only that one."""
    if parses(pair):
        return [f"parses: {parses(pair)}"]
    return [f"{name}: {said}" for name, holds in CHECKS.items() if (said := holds(pair))]


# --- one release ----------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """The result of one release with one kind of fixes."""

    corpus: str
    unsafe: bool
    found: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    pairs: dict[str, Pair] = field(default_factory=dict)
    applied: list[tuple[str, Finding]] = field(default_factory=list)
    withheld: list[tuple[str, Finding, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def levels(self) -> Counter:
        """How many findings there are, by the applicability of their fix."""
        return Counter(level(finding) for findings in self.found.values() for finding in findings)


def level(finding: Finding) -> str:
    if finding.fix is None or finding.fix.applicability is Applicability.DISPLAY:
        return "hint"
    return finding.fix.applicability.value


class Mender:
    """One release: its findings, and the results of both kinds of fixes."""

    def __init__(self, name: str, root: Path, files: Sequence[Path]) -> None:
        self.name = name
        self.root = root
        self.linter = new_linter(root)
        read = {path: path.read_bytes() for path in files}
        self.sources = {path: source for path, source in read.items() if self.linter.may_matter(source)}
        self.found = self._lint(self.linter, self.sources)

    def _lint(self, linter: Linter, sources: Mapping[Path, bytes]) -> dict[Path, tuple[Finding, ...]]:
        """The findings of all files; a file that can't be parsed has none."""
        linter.prepare(sources.items())
        found = {}
        for path, source in sources.items():
            try:
                found[path] = tuple(linter.check(path, source))
            except SourceError:
                continue
        return {path: findings for path, findings in found.items() if findings}

    def outcome(self, unsafe: bool) -> Outcome:
        """Fix every file that has findings, then lint all of them again."""
        outcome = Outcome(self.name, unsafe)
        mended: dict[Path, bytes] = {}
        for path, findings in self.found.items():
            name = path.relative_to(self.root).as_posix()
            outcome.found[name] = findings
            result = self.linter.fix(path, self.sources[path], unsafe=unsafe)
            outcome.applied += [(name, finding) for finding in result.applied]
            outcome.withheld += [(name, finding, reason) for finding, reason in result.withheld]
            if result.source != self.sources[path]:
                mended[path] = result.source
                pair = outcome.pairs[name] = Pair(self.sources[path], result.source, findings)
                outcome.failures += [f"{name}: {said}" for said in check(pair)]
        if mended:
            outcome.failures += self._failures_together(mended, unsafe)
        return outcome

    def _failures_together(self, mended: Mapping[Path, bytes], unsafe: bool) -> Iterator[str]:
        """What is wrong with the release once all of its files are fixed."""
        linter = Linter(self.linter.settings, self.linter.roots, self.linter.rules)
        linter.trees = dict(self.linter.trees)
        linter.overlay.update(mended)
        sources = {**self.sources, **mended}
        after = self._lint(linter, sources)
        for path in sources:
            old = _by_symbol(self.sources[path], self.found.get(path, ()))
            new = _by_symbol(sources[path], after.get(path, ()))
            for (code, symbol), count in (new - old).items():
                if any(where == symbol and code in _uncovered_by(mended_by) for mended_by, where in old):
                    continue
                yield f"{path.relative_to(self.root).as_posix()}: new: {count} x {code} in {symbol}"
        for path, source in mended.items():
            if linter.fix(path, source, unsafe=unsafe).source != source:
                yield f"{path.relative_to(self.root).as_posix()}: again: a second run changes it once more"


def _uncovered_by(code: str) -> frozenset[str]:
    rule = find_rule(code)
    return frozenset() if rule is None else uncovered_by(rule)


def _by_symbol(source: bytes, findings: Sequence[Finding]) -> Counter:
    """How many findings each rule has in each function."""
    if not findings:
        return Counter()
    spans = [(end - start, start, end, name) for name, all_of in symbols(source).items() for start, end in all_of]

    def symbol(line: int) -> str:
        holding = [(size, name) for size, start, end, name in spans if start <= line <= end]
        return min(holding)[1] if holding else "<module>"

    return Counter((finding.code, symbol(finding.start.line)) for finding in findings)


# --- the sites of TRL's own bug -------------------------------------------------------------------------


def site_lines(outcome: Outcome, cases: Sequence[dict]) -> tuple[list[str], list[str]]:
    """Each site with its old and its new line, and what is wrong with their files."""
    said: list[str] = []
    wrong: list[str] = []
    for file in dict.fromkeys(site["file"] for case in cases for site in case["sites"]):
        sites = [site for case in cases for site in case["sites"] if site["file"] == file]
        pair = outcome.pairs.get(file)
        if pair is None:
            wrong.append(f"{file}: nothing is mended")
            continue
        before, after = (text.splitlines() for text in pair.texts())
        changes = hunks(before, after)
        for site in sites:
            old, new = before[site["line"] - 1].strip(), _new_line(changes, after, site["line"])
            said += [f"  {file}:{site['line']} {site['symbol']}", f"    - {old}", f"    + {new}"]
            if ".gather(" not in new:
                wrong.append(f"{file}:{site['line']}: is not gathered: {new}")
        touched = {line + 1 for hunk in changes for line in range(hunk.first, hunk.last)}
        strange = sorted(touched - {site["line"] for site in sites})
        inserted = [hunk.first + 1 for hunk in changes if hunk.first == hunk.last]
        if strange or inserted:
            wrong.append(f"{file}: lines that are no sites have changed: {[*strange, *inserted]}")
    return said, wrong


def _new_line(changes: Sequence[Hunk], after: Sequence[str], line: int) -> str:
    """What one line has become: if its hunk has as many lines as before, the line at its position."""
    for hunk in changes:
        if hunk.first <= line - 1 < hunk.last and hunk.last - hunk.first == hunk.end - hunk.start:
            return after[hunk.start + line - 1 - hunk.first].strip()
    first, last = carried(changes, line, line)
    return " ".join(each.strip() for each in after[first - 1 : last])


def left_in(mender: Mender, outcome: Outcome, cases: Sequence[dict]) -> list[str]:
    """The findings of the cases' rule that are left in their files."""
    linter = new_linter(mender.root)
    left = []
    for file in dict.fromkeys(site["file"] for case in cases for site in case["sites"]):
        source = outcome.pairs[file].after if file in outcome.pairs else (mender.root / file).read_bytes()
        findings = linter.check(mender.root / file, source)
        left += [
            f"{file}:{each.start.line}: still has {each.code}" for each in findings if each.code == cases[0]["rule"]
        ]
    return left


# --- the report -----------------------------------------------------------------------------------------


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line per release and kind of fixes."""
    rows: list[tuple[object, ...]] = [
        ("release", "fixes", "files", "safe", "unsafe", "hint", "applied", "withheld", "checks failed")
    ]
    for outcome in outcomes:
        levels = outcome.levels()
        counts = (levels["safe"], levels["unsafe"], levels["hint"], len(outcome.applied), len(outcome.withheld))
        rows.append((outcome.corpus, MODES[outcome.unsafe], len(outcome.found), *counts, len(outcome.failures)))
    return table(rows)


def checked(outcomes: Sequence[Outcome]) -> str:
    """How many files, or functions, fail each check; and how many findings of each rule were fixed."""
    names = (*CHECKS, *TOGETHER)
    rows: list[tuple[object, ...]] = [("release", "fixes", "mended files", *names, "applied, by rule")]
    for outcome in outcomes:
        failed = Counter(said.split(": ")[1] for said in outcome.failures)
        rules = Counter(finding.code for _, finding in outcome.applied)
        shown = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items()))
        counts = (failed[name] or "ok" for name in names)
        rows.append((outcome.corpus, MODES[outcome.unsafe], len(outcome.pairs), *counts, shown))
    return table(rows)


def causes(outcomes: Sequence[Outcome], verbose: bool) -> Iterator[str]:
    """Why findings have no safe fix, with their places if verbose, and which fixes were withheld."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for outcome in outcomes:
        for name, findings in ({} if outcome.unsafe else outcome.found).items():
            for each in findings:
                if level(each) != "safe":
                    reason = each.fix.reason if each.fix is not None else NO_FIX
                    key = (each.code, level(each), reason)
                    places.setdefault(key, []).append(f"{outcome.corpus} {name}:{each.start.line}")
        for name, each, reason in outcome.withheld:
            key = (each.code, f"withheld ({MODES[outcome.unsafe]})", reason)
            places.setdefault(key, []).append(f"{outcome.corpus} {name}:{each.start.line}")
    yield "\nfindings without a safe fix, by cause:"
    for (code, how, reason), where in sorted(places.items(), key=lambda item: (item[0][0], -len(item[1]))):
        yield f"  {len(where)} x {code} {how}: {reason}"
        yield from (f"      {place}" for place in where if verbose or how.startswith("withheld"))


def diffs(outcome: Outcome, shown: set[Pair]) -> Iterator[str]:
    """The fixes of a release as unified diffs, except those already shown."""
    for name, pair in outcome.pairs.items():
        if pair in shown:
            continue
        shown.add(pair)
        before, after = (text.splitlines(keepends=True) for text in pair.texts())
        yield f"\n{outcome.corpus}, {MODES[outcome.unsafe]}:"
        yield "".join(unified_diff(before, after, name, name)).rstrip("\n")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="only releases whose name contains TEXT")
    parser.add_argument("--tree", type=Path, action="append", default=[], metavar="FOLDER", help="this code instead")
    parser.add_argument("--foreign", action="store_true", help="other people's code bases instead")
    parser.add_argument("--mirrors", type=Path, metavar="DIR", help="where bare git mirrors lie, as OWNER+NAME")
    parser.add_argument("--diff", action="store_true", help="show every fix as a unified diff")
    parser.add_argument("--verbose", action="store_true", help="show where every hint is")
    return parser.parse_args(arguments)


def foreign_trees(only: str, mirrors: Path | None) -> Iterator[tuple[str, Path]]:
    """Name and files of the commits that `evaluation.foreign` lints. Those that are unavailable are reported and
    skipped.
    """
    for row in load("foreign.json"):
        checkout = Checkout(row["repository"], row["commit"])
        if only not in checkout.repository:
            continue
        try:
            yield checkout.repository, tree_of(checkout, mirrors)
        except NotToBeHad as error:
            print(f"skipped: {checkout}: {error}", file=sys.stderr)


def of_trees(trees: Iterable[tuple[str, Path]]) -> list[Outcome]:
    """The results of the fixes for the code in some folders, one folder after the other."""
    outcomes: list[Outcome] = []
    for name, tree in trees:
        print(f"{name} …", file=sys.stderr, flush=True)
        mender = Mender(name, tree.resolve(), python_files(tree.resolve()))
        outcomes += [mender.outcome(unsafe) for unsafe in MODES]
    return outcomes


def of_releases(only: str) -> tuple[list[Outcome], list[str], list[str]]:
    """The results of the fixes for the releases; the lines at the sites of TRL's own bug, and what is wrong there."""
    cases = [case for case in load("trl_cases.json") if case["id"] in SITES]
    outcomes: list[Outcome] = []
    sites: list[str] = []
    failures: list[str] = []
    for corpus in CORPORA:
        if only not in str(corpus):
            continue
        print(f"{corpus} …", file=sys.stderr, flush=True)
        mender = Mender(str(corpus), corpus.root, corpus.files)
        own = [mender.outcome(unsafe) for unsafe in MODES]
        outcomes += own
        if corpus.release == Release("trl", cases[0]["buggy_release"]):
            sites, failures = site_lines(own[0], cases)
            failures += left_in(mender, own[0], cases)
    return outcomes, sites, failures


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    sites: list[str] = []
    failures: list[str] = []
    if options.foreign:
        outcomes = of_trees(foreign_trees(options.only, options.mirrors))
    elif options.tree:
        outcomes = of_trees((tree.name, tree) for tree in options.tree)
    else:
        outcomes, sites, failures = of_releases(options.only)
    if not outcomes:
        return NOT_RUN
    print(summary(outcomes))
    print(f"\n{checked(outcomes)}")
    print("\n".join(causes(outcomes, options.verbose)))
    if sites:
        print(f"\nthe sites of {', '.join(SITES)}:", *sites, sep="\n")
    failures += [f"{each.corpus} ({MODES[each.unsafe]}) {said}" for each in outcomes for said in each.failures]
    print(f"\nfailed checks: {len(failures)}", *(f"  {failure}" for failure in failures), sep="\n")
    if options.diff:
        shown: set[Pair] = set()
        print("\n".join(line for outcome in outcomes for line in diffs(outcome, shown)))
    return FAILED if failures else PASSED


if __name__ == "__main__":
    run(main)
