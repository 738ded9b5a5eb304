"""Mutation benchmark: right code is broken in memory, one place at a time; is each break found?

    python -m evaluation.mutation [--fix] [--steps NAMES] [--per-file N | --all] [--only TEXT] [--json] [--verbose]

The right code comes from releases (see `CORPORA`). An operator breaks one place; then the same break is repeated after
each neutral step (an alias, an extra local, a helper, a helper in another file). A mutant is found when the rule
reports every statement where a finding is due; all other findings of the file must stay unchanged. Exit code 1 when
recall is below 80 % over all or below what an operator requires (mostly 60 %), when fewer of the found ones than it
requires are in the default set, or when another finding changed.

With `--fix` every mutant that is found is fixed as well (see `mending.py`): only for the plain break, as each takes
about a second; `--steps all` fixes it after each neutral step. Exit code 1 as well when a safe fix leaves its finding,
or when too few of them restore the original.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import libcst as cst

from evaluation import mending
from evaluation.common import FAILED, PASSED, new_linter, run, table
from evaluation.corpora import Corpus
from evaluation.history import is_about
from evaluation.mending import Mended, Original
from evaluation.neutral import STEPS, NotPossible, Rewrite
from evaluation.operators import OPERATORS as METRIC_OPERATORS
from evaluation.operators import Operator, Site, sites_of
from evaluation.operators_devices import DEVICE_OPERATORS
from evaluation.releases import Release
from evaluation.source import Edit, Source, apply, dotted, line_of, moved
from trl_lint.findings import Finding
from trl_lint.linter.linter import Linter

CORPORA = (
    Corpus(Release("trl", "0.14.0"), ("trl/**/*.py",)),
    Corpus(Release("trl", "0.17.0"), ("trl/**/*.py",)),
    # Trainers that pad what they gather, and gather one value per rank, differently from the releases next to them.
    Corpus(Release("trl", "0.9.6"), ("trl/trainer/kto_trainer.py",)),
    Corpus(Release("trl", "0.23.1"), ("trl/trainer/grpo_trainer.py", "trl/trainer/rloo_trainer.py")),
    Corpus(Release("trl", "1.16.0"), ("trl/**/*.py",)),
    Corpus(Release("transformers", "4.51.3"), ("transformers/trainer*.py",)),
    # The source distribution has examples, if there are any, and loops that run on several processes.
    Corpus(
        Release("accelerate", "1.15.0", "sdist"),
        ("examples/**/*.py", "src/accelerate/test_utils/scripts/**/*.py"),
    ),
)
OPERATORS = (*METRIC_OPERATORS, *DEVICE_OPERATORS)
MIN_TOTAL = 0.80
# Sites per file and operator in a plain run: each is tried with every neutral step. Operators with places in only a few
# files try more sites.
PER_FILE = 1

# If an operator of the first rule breaks a place, findings of the others appear and disappear as well: what is not
# reduced before it is gathered is no longer one value per rank.
_ALSO = {"TRL001": ("TRL001", "TRL014"), "TRL005": ("TRL005", "TRL014")}

Lines = tuple[Path, int, int]


@dataclass(frozen=True)
class Mutant:
    """Broken code: the texts that differ from the disk, where findings are due, where they are legitimate, and the
    place.

    The code at the place has changed: findings on the right code may be gone.
    """

    path: Path
    texts: dict[Path, str]
    rule: str
    # One entry per due finding: the line ranges, one of which must hold it.
    due: tuple[tuple[Lines, ...], ...]
    fair: tuple[Lines, ...]
    place: tuple[Lines, ...] = ()


@dataclass
class Result:
    """The result of one mutant."""

    operator: str
    step: str
    corpus: str
    file: str
    line: int
    symbol: str
    code: str
    found: bool
    missing: list[int] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    # The code before it was broken.
    right: str = ""
    # With --fix, for a found mutant.
    mended: Mended | None = None
    # Whether users who select nothing see the finding.
    by_default: bool = True


@dataclass
class Tally:
    """The counts of a run, in addition to its mutants."""

    results: list[Result] = field(default_factory=list)
    sites: Counter = field(default_factory=Counter)
    tried: Counter = field(default_factory=Counter)
    excluded: Counter = field(default_factory=Counter)
    # Places that already have the finding, so that they are not right code.
    flagged: list[str] = field(default_factory=list)
    impossible: Counter = field(default_factory=Counter)


def build(source: Source, operator: Operator, site: Site, step: str) -> Mutant:
    """The mutant of a site after a neutral step.

    Raises:
        NotPossible: the step is not possible there.
    """
    rewrite = STEPS[step](source, site.place)
    edits = sorted(rewrite.edits)
    text = apply(source.text, edits)
    at_place = _place_lines(source, site, rewrite, text)
    due = tuple(_due_lines(source, statement, edits, text) for statement in site.due)
    due = due or (at_place if operator.follows else at_place[:1],)
    fair = tuple(_lines(source, statement, edits, text) for statement in site.fair())
    return Mutant(
        source.path, {source.path: text, **rewrite.new_files}, operator.rule, due, (*fair, *at_place), at_place
    )


def _place_lines(source: Source, site: Site, rewrite: Rewrite, text: str) -> tuple[Lines, ...]:
    """The lines of the broken place: its statement, what was inserted before it, and the helper it moved to."""
    own = _lines(source, source.statement(site.place.whole), rewrite.edits, text)
    inserted = []
    for edit in rewrite.edits:
        if edit.start == edit.end:
            first = moved(edit.start, rewrite.edits) - len(edit.new)
            inserted.append((source.path, line_of(text, first), line_of(text, first + len(edit.new) - 1)))
    files = [(path, 1, new.count("\n") + 1) for path, new in rewrite.new_files.items()]
    return (own, *inserted, *files)


def _due_lines(source: Source, statement: cst.CSTNode, edits: list[Edit], text: str) -> tuple[Lines, ...]:
    """Where a due finding may be: in the statement; for a dict that is logged, also where it is filled."""
    places = [statement, *_writes(source, logged_dict(statement))]
    return tuple(_lines(source, place, edits, text) for place in places)


def logged_dict(statement: cst.CSTNode) -> str | None:
    """The name in `….log(info)`."""
    call = getattr(statement.body[0], "value", None) if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(call, cst.Call) and (dotted(call.func) or "").endswith(".log") and call.args:
        value = call.args[0].value
        return value.value if isinstance(value, cst.Name) else None
    return None


def _writes(source: Source, name: str | None) -> list[cst.CSTNode]:
    """The statements that write entries of the dict: `info[…] = …`, `info[…].append(…)`, `info.update(…)`."""
    if name is None:
        return []
    starts = (f"{name}[", f"{name}.update(")
    return [s for s in source.all(cst.SimpleStatementLine) if source.code(s).startswith(starts)]


def _lines(source: Source, statement: cst.CSTNode, edits: Sequence[Edit], text: str) -> Lines:
    start, end = source.header_span(statement)
    return source.path, line_of(text, moved(start, edits)), line_of(text, moved(end, edits))


def holds(ranges: Sequence[Lines], path: Path, line: int) -> bool:
    """Whether the place is in one of the line ranges."""
    return any(other == path and first <= line <= last for other, first, last in ranges)


class Bench:
    """A linter over one release, which lints texts that are not on the disk."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.linter: Linter = new_linter(corpus.root)

    def renew(self) -> None:
        """Forget what was analysed, but not what was parsed: a mutant is judged by itself, as in a separate run."""
        trees = self.linter.trees
        self.linter = new_linter(self.corpus.root)
        self.linter.trees = trees

    @contextmanager
    def seeing(self, texts: dict[Path, str]) -> Iterator[None]:
        """Use these texts instead of the files on the disk."""
        overlay = self.linter.overlay
        overlay.update({path: text.encode() for path, text in texts.items()})
        try:
            yield
        finally:
            for path in texts:
                overlay.pop(path, None)
                self.linter.trees.pop(path, None)  # a new file has a name of its own, so that none replaces its tree

    def lint(self, texts: dict[Path, str]) -> list[tuple[Path, Finding]]:
        """The findings in these files, each analysed with the others in place."""
        self.renew()
        with self.seeing(texts):
            return [(path, f) for path, text in texts.items() for f in self.linter.check(path, text.encode())]

    def mend(self, mutant: Mutant, after: Sequence[tuple[Path, Finding]], original: Original) -> Mended:
        """The result of `--fix` for a mutant that is found, after its texts were linted."""
        due = [lines for ranges in mutant.due for lines in ranges]
        found = [
            (path, f) for path, f in after if f.code == mutant.rule and any(holds(due, path, line) for line in f.lines)
        ]
        with self.seeing(mutant.texts):
            return mending.mend(self.linter, mutant.texts, due, found, original)


def unspoken(mutant: Mutant, after: Iterable[tuple[Path, Finding]]) -> list[int]:
    """The due findings of a mutant, as lines, that are not among these findings."""
    spoken = [(path, line) for path, f in after if is_about(f, mutant.rule) for line in f.lines]
    return [ranges[0][1] for ranges in mutant.due if not any(holds(ranges, path, line) for path, line in spoken)]


def judge(mutant: Mutant, before: Sequence[Finding], after: Sequence[tuple[Path, Finding]], shift) -> tuple:
    """The due findings that are missing (as lines), and the other findings that appeared or disappeared.

    `shift` maps a line of the old text to the new one.
    """
    missing = unspoken(mutant, after)
    expected = [*(lines for ranges in mutant.due for lines in ranges), *mutant.fair]

    def other(code: str, path: Path, line: int) -> bool:
        return code not in _ALSO.get(mutant.rule, (mutant.rule,)) or not holds(expected, path, line)

    # For ranks that leave, the line of the condition: that is the line where a mutant's finding is due.
    old = Counter((f.code, mutant.path, shift(f.lines[-1])) for f in before)
    old = Counter({key: n for key, n in old.items() if other(*key)})
    new = Counter((f.code, path, f.lines[-1]) for path, f in after if other(f.code, path, f.lines[-1]))
    gone = list((old - new).elements())
    # A finding at the broken place may be gone, or move with its code if a neutral step moves that.
    moved_along = Counter(code for code, path, line in gone if holds(mutant.place, path, line))
    changed = []
    for code, path, line in (new - old).elements():
        if holds(mutant.place, path, line) and moved_along[code]:
            moved_along[code] -= 1
        else:
            changed.append(f"new {code} at {path.name}:{line}")
    left = (each for each in gone if not holds(mutant.place, *each[1:]))
    changed += [f"lost {code} at {path.name}:{line}" for code, path, line in left]
    return missing, changed


def every(sites: Sequence[Site], cap: int | None) -> list[Site]:
    """At most `cap` of the sites, evenly spread, always the same."""
    if cap is None or len(sites) <= cap:
        return list(sites)
    return [sites[(2 * i + 1) * len(sites) // (2 * cap)] for i in range(cap)]


@dataclass(frozen=True)
class Plan:
    """Which mutants are tried, and whether they are fixed."""

    cap: int | None = PER_FILE
    only: str = ""
    steps: tuple[str, ...] = tuple(STEPS)
    fix: bool = False


def run_corpus(corpus: Corpus, plan: Plan, tally: Tally) -> None:
    """Try the mutants of one release."""
    bench = Bench(corpus)
    for path in corpus.files:
        text = path.read_text(encoding="utf-8")
        wanted = [op for op in OPERATORS if plan.only in f"{op.name} {path}" and any(n in text for n in op.needles)]
        if wanted:
            source = Source(path, text)
            before = [finding for _, finding in bench.lint({path: text})]
            for operator in wanted:
                run_operator(bench, source, operator, before, plan, tally)


def run_operator(
    bench: Bench, source: Source, operator: Operator, before: list[Finding], plan: Plan, tally: Tally
) -> None:
    """Try the mutants of one operator in one file."""
    name = source.path.relative_to(bench.corpus.root).as_posix()
    sites, excluded = sites_of(operator, source, name)
    right = [site for site in sites if not already_found(source, operator, site, before)]
    tally.excluded[operator.name] += excluded
    tally.sites[operator.name] += len(right)
    tally.flagged += [f"{operator.rule} {name}:{source.line(s.place.target)}" for s in sites if s not in right]
    original = Original(bench.linter, source.path, source.text, before) if plan.fix else None
    for site in every(right, plan.cap and max(plan.cap, operator.per_file)):
        tally.tried[operator.name] += 1
        for step in plan.steps:
            try:
                mutant = build(source, operator, site, step)
            except NotPossible as reason:
                tally.impossible[step, str(reason)] += 1
            else:
                tally.results.append(_result(bench, source, operator, site, step, mutant, before, name, original))


def already_found(source: Source, operator: Operator, site: Site, before: Sequence[Finding]) -> bool:
    """Whether the rule reports the place before it is broken: recall there would mean nothing."""
    statements = site.due or (source.statement(site.place.whole),)
    ranges = [_lines(source, statement, [], source.text) for statement in statements]
    return any(is_about(f, operator.rule) and holds(ranges, source.path, line) for f in before for line in f.lines)


def _result(
    bench: Bench,
    source: Source,
    operator: Operator,
    site: Site,
    step: str,
    mutant: Mutant,
    before: list[Finding],
    name: str,
    original: Original | None,
) -> Result:
    edits = STEPS[step](source, site.place).edits
    text = mutant.texts[source.path]

    def shift(line: int) -> int:
        return line_of(text, moved(source.offset_of_line(line), edits))

    after = bench.lint(mutant.texts)
    missing, changed = judge(mutant, before, after, shift)
    unasked = [each for each in after if each[1].by_default]
    mended = bench.mend(mutant, after, original) if original is not None and not missing else None
    target = site.place.target
    place = (source.line(target), source.symbol(target), site.place.broken)
    return Result(
        operator.name,
        step,
        str(bench.corpus),
        name,
        *place,
        found=not missing,
        by_default=not unspoken(mutant, unasked),
        missing=missing,
        changed=changed,
        right=source.code(site.place.whole),
        mended=mended,
    )


def recall(results: Sequence[Result]) -> float:
    """The share of the mutants that are found; 0 without any."""
    return sum(result.found for result in results) / len(results) if results else 0.0


def by_default(results: Sequence[Result]) -> float:
    """The share of the found mutants that users who select nothing see; 1 if there are none."""
    found = [result for result in results if result.found]
    return sum(result.by_default for result in found) / len(found) if found else 1.0


def grid(results: Sequence[Result], steps: Sequence[str]) -> str:
    """Found mutants of all mutants: an operator per row, a neutral step per column."""
    rows: list[tuple[object, ...]] = [("operator", *steps, "all", "recall", "by default")]
    for operator in [*(op.name for op in OPERATORS), ""]:
        own = [result for result in results if operator in ("", result.operator)]
        cells = [_share([result for result in own if result.step == step]) for step in steps]
        rows.append((operator or "all", *cells, _share(own), f"{recall(own):.0%}", f"{by_default(own):.0%}"))
    return table(rows)


def _share(results: Sequence[Result]) -> str:
    return f"{sum(result.found for result in results)}/{len(results)}"


def report(tally: Tally, plan: Plan, verbose: bool) -> Iterator[str]:
    """The grid, what was left out, what was missed, what changed, then the results of the fixes."""
    results, cap = tally.results, plan.cap
    yield grid(results, plan.steps)
    yield "\ncap: " + (
        f"{cap} site(s) per file and operator, more of rare ones (--all tries all)" if cap else "none, all sites"
    )
    for operator in OPERATORS:
        name = operator.name
        counts = f"{tally.tried[name]} of {tally.sites[name]} sites tried"
        yield f"  {name}: {counts}, {tally.excluded[name]} excluded (the mutant would not be wrong)"
    for (step, reason), count in sorted(tally.impossible.items()):
        yield f"  {step}: not possible at {count} sites: {reason}"
    if tally.flagged:
        yield f"places that have the finding before they are broken: {len(tally.flagged)}"
        yield from (f"  {place}" for place in tally.flagged)
    yield from _missed(results, verbose)
    yield from _asked_for(results)
    changed = [result for result in results if result.changed]
    yield f"\nmutants with other findings that changed: {len(changed)}"
    yield from (f"  {_where(result)}: {'; '.join(result.changed)}" for result in changed)
    if plan.fix:
        yield from mending.report(results, [operator.name for operator in OPERATORS], plan.steps, verbose)


def _missed(results: Sequence[Result], verbose: bool) -> Iterator[str]:
    missed = [result for result in results if not result.found]
    yield f"\nmissed, by place (steps): {len(missed)}"
    grouped: dict[tuple, list[Result]] = {}
    for result in missed:
        grouped.setdefault((result.operator, result.corpus, result.file, result.symbol), []).append(result)
    for (operator, corpus, file, symbol), group in grouped.items():
        yield f"  {operator}: {corpus} {file} {symbol}"
        lines: dict[tuple[int, str], list[Result]] = {}
        for result in group:
            lines.setdefault((result.line, result.code), []).append(result)
        for (line, code), parts in lines.items():
            shown = " ".join(code.split())[:70]
            due = f" due at {parts[0].missing}" if verbose else ""
            yield f"    line {line}: {shown}  [{', '.join(part.step for part in parts)}]{due}"


def _asked_for(results: Sequence[Result]) -> Iterator[str]:
    """The mutants that are found only if their rule is selected."""
    unseen = [result for result in results if result.found and not result.by_default]
    yield f"\nfound, but not in the default set: {len(unseen)}"
    yield from (f"  {each}" for each in dict.fromkeys(f"{_at(result)} {result.symbol}" for result in unseen))
    yield from (f"too few of it in the default set: {name}" for name in unasked_too_few(results))


def _at(result: Result) -> str:
    return f"{result.operator}: {result.corpus} {result.file}:{result.line}"


def _where(result: Result) -> str:
    return f"{result.operator} ({result.step}) {result.corpus} {result.file}:{result.line}"


def passed(results: Sequence[Result]) -> bool:
    """Whether recall is high enough, over all, per operator and by default, and nothing else changed."""
    by_operator = [(operator, [r for r in results if r.operator == operator.name]) for operator in OPERATORS]
    enough = recall(results) >= MIN_TOTAL and all(recall(own) >= operator.recall for operator, own in by_operator)
    return enough and not unasked_too_few(results) and not any(result.changed for result in results)


def unasked_too_few(results: Sequence[Result]) -> list[str]:
    """The operators that have fewer found mutants in the default set than they require."""
    shares = {op: by_default([r for r in results if r.operator == op.name]) for op in OPERATORS}
    return [op.name for op, share in shares.items() if share < op.by_default]


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--per-file", type=int, default=PER_FILE, metavar="N", help="sites per file and operator")
    parser.add_argument("--all", action="store_true", help="all sites, without a cap")
    parser.add_argument("--only", default="", metavar="TEXT", help="only operators and files that contain TEXT")
    parser.add_argument("--fix", action="store_true", help="mend what is found, and compare with the original")
    parser.add_argument(
        "--steps",
        metavar="NAMES",
        help="the neutral steps to take, with commas between them, or `all`; with --fix `none` is what is done unasked",
    )
    parser.add_argument("--json", action="store_true", help="write every mutant as JSON")
    parser.add_argument(
        "--verbose", action="store_true", help="say where each missing finding is due, and how fixes differ"
    )
    return parser.parse_args(arguments)


def plan_of(options: argparse.Namespace) -> Plan:
    """The plan that the options describe."""
    wanted = options.steps or ("none" if options.fix else "all")
    steps = tuple(step for step in STEPS if wanted == "all" or step in wanted.split(","))
    return Plan(None if options.all else options.per_file, options.only, steps, options.fix)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    plan = plan_of(options)
    tally, start = Tally(), time.monotonic()
    for corpus in CORPORA:
        print(f"{corpus} …", file=sys.stderr, flush=True)
        run_corpus(corpus, plan, tally)
    if options.json:
        print(json.dumps([asdict(result) for result in tally.results], indent=1))
    else:
        print("\n".join(report(tally, plan, options.verbose)))
        print(f"\n{len(tally.results)} mutants in {time.monotonic() - start:.0f} s")
    return PASSED if passed(tally.results) and mending.passed(tally.results) else FAILED


if __name__ == "__main__":
    run(main)
