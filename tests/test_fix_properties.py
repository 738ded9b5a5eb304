"""What `--fix` must keep, whatever the text looks like: its form, its comments, its meaning, and the user's file."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from fixture_marks import MARK
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_trees import check_trust, check_writing

from trl_lint.analysis.program.project.project import decode
from trl_lint.findings import Applicability
from trl_lint.frontends.cli import main
from trl_lint.linter import runner
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import FixResult
from trl_lint.linter.rewriting import fixing
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parent.parent / "fixtures"
BROKEN = sorted(FIXTURES.glob("*/broken*.py"))
# Their fixes move lines, together with their comments.
MOVE_LINES = {"divergent_collective/broken_exit", "sharded_save_on_one_rank/broken_state_dict"}
TREES: dict = {}
# What starts the programs of a folder of fixtures is looked for once.
ENGINES: dict = {}

SNIPPET = FIXTURES / "nowhere" / "snippet.py"


def identity(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@cache
def plain(path: Path) -> str:
    """The fixture without its marks."""
    return MARK.sub("", path.read_text(encoding="utf-8"))


def linter(path: Path) -> Linter:
    """A linter whose project is the folder of a file; modules that fixtures share are found next to it."""
    settings = Settings(target_trl="0.17.0", target_transformers="4.51.3")
    fresh = Linter(settings, (path.parent, FIXTURES), all_rules())
    fresh.trees = TREES
    if FIXTURES in path.parents:
        fresh.engines = ENGINES.setdefault(path.parent, fresh.engines)
    return fresh


@lru_cache(maxsize=8)
def linter_of(path: Path, source: bytes) -> Linter:
    """A linter for all calls on one text, which it analyses once."""
    return linter(path)


def fix(path: Path, source: bytes, unsafe: bool) -> FixResult:
    return linter_of(path, source).fix(path, source, unsafe=unsafe)


@cache
def mended(path: Path, unsafe: bool) -> str:
    """The result of `--fix` for the plain text."""
    return fix(path, plain(path).encode(), unsafe).source.decode()


def codes(findings) -> list[str]:
    return sorted(finding.code for finding in findings)


def comments(source: bytes) -> list[str]:
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def line_ends(source: bytes) -> set[bytes]:
    return set(re.findall(rb"\r\n|\r|\n", source))


def check_form(path: Path, source: bytes, result: FixResult, unsafe: bool) -> None:
    """Check what holds for every fix of every text."""
    compile(result.source, str(path), "exec", dont_inherit=True)
    order = sorted if identity(path) in MOVE_LINES else list
    assert order(comments(result.source)) == order(comments(source))
    assert line_ends(result.source) == line_ends(source)
    assert decode(result.source)[1] == decode(source)[1]
    assert result.source.startswith(codecs.BOM_UTF8) == source.startswith(codecs.BOM_UTF8)
    found = linter_of(path, source).check(path, source)
    before, after = codes(found), codes(result.remaining)
    assert [code for code in after if after.count(code) > before.count(code)] == []
    # One edit may fix two findings, and findings that only appear after a fix are fixed as well.
    assert len(after) <= len(before) - sum(each in found for each in result.applied)
    again = fix(path, result.source, unsafe)
    assert (again.source, again.applied) == (result.source, ())


# --- the same text in another form ----------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """A way to write the same program, and its inverse."""

    write: Callable[[str], bytes]
    read: Callable[[bytes], str]


COOKIE = "# -*- coding: latin-1 -*-\n# caf\xe9 cr\xe8me\n"
NOTE = re.compile(r"  # note \d+$|^[ \t]*# note \d+\n", re.MULTILINE)


def _reindented(text: str, old: str, new: str) -> str:
    """The text with one unit of indentation replaced by another."""
    return re.sub(rf"^(?:{old})+", lambda found: new * (len(found[0]) // len(old)), text, flags=re.MULTILINE)


FORMS = {
    "crlf": Form(lambda text: text.replace("\n", "\r\n").encode(), lambda data: data.decode().replace("\r\n", "\n")),
    # LibCST loses such a line end at the very end; see below.
    "cr": Form(
        lambda text: text.removesuffix("\n").replace("\n", "\r").encode(),
        lambda data: data.decode().replace("\r", "\n") + "\n",
    ),
    "bom": Form(lambda text: text.encode("utf-8-sig"), lambda data: data.decode("utf-8-sig")),
    "latin-1": Form(
        lambda text: (COOKIE + text).encode("latin-1"), lambda data: data.decode("latin-1").removeprefix(COOKIE)
    ),
    "no final newline": Form(lambda text: text.removesuffix("\n").encode(), lambda data: data.decode() + "\n"),
    "tabs": Form(
        lambda text: _reindented(text, "    ", "\t").encode(), lambda data: _reindented(data.decode(), "\t", "    ")
    ),
    "form feeds": Form(
        lambda text: text.replace("\n\n\n", "\n\n\x0c\n").encode(), lambda data: data.decode().replace("\x0c", "")
    ),
    "blank lines with spaces": Form(
        lambda text: re.sub(r"(?<=\n)\n(?=    )", "    \n", text).encode(),
        lambda data: re.sub(r"^    $", "", data.decode(), flags=re.MULTILINE),
    ),
}


def _in_other_forms() -> Iterator[object]:
    """In every run the first text of each rule and a quarter of the others are tested in one form each, in turn; the
    rest is slow.
    """
    for at, path in enumerate(BROKEN):
        for turn, form in enumerate(FORMS):
            is_in_turn = at // 2 % len(FORMS) == turn and (at % 4 == 0 or path.stem == "broken")
            marks = [] if is_in_turn else [pytest.mark.slow]
            yield pytest.param(path, form, id=f"{identity(path)}-{form}", marks=marks)


@pytest.mark.parametrize(("path", "form"), list(_in_other_forms()))
def test_another_form_gets_the_same_fix(path: Path, form: str) -> None:
    source = FORMS[form].write(plain(path))
    assert FORMS[form].read(source) == plain(path)
    for unsafe in asked_for(path, source):
        result = fix(path, source, unsafe)
        assert FORMS[form].read(result.source) == mended(path, unsafe)
        check_form(path, source, result, unsafe)
    reported = linter_of(path, source).report(path, source)
    check_writing(reported)
    for each in reported:
        check_trust(each)


def asked_for(path: Path, source: bytes) -> Iterator[bool]:
    """The values of `unsafe`: False, and True unless neither the text nor its result has unsafe fixes."""
    yield False
    known = (*linter_of(path, source).check(path, source), *fix(path, source, False).remaining)
    if any(each.fix and each.fix.applicability is Applicability.UNSAFE for each in known):
        yield True
    else:
        assert mended(path, True) == mended(path, False)


def test_a_text_that_the_parser_does_not_give_back_is_left_alone() -> None:
    source = raw("cr") + b"\r"
    result = fix(COUNTING, source, False)
    assert (result.source, result.applied) == (source, ())
    assert [(finding, bool(reason)) for finding, reason in result.withheld] == [(result.remaining[0], True)]


# Characters that these encodings can represent in several ways, in a representation that is not written.
SPELLED_IN_TWO_WAYS = {
    "iso2022_jp": b'\x1b$B$"\x1b(B\x1b$B\x1b(B',
    "cp932": b"\xee\xf9 \xfa\x54",
}


@pytest.mark.parametrize("encoding", ["cp932", "iso2022_jp"])
def test_a_text_of_which_other_bytes_would_come_is_left_alone(encoding: str) -> None:
    source = f"# coding: {encoding}\n# ".encode() + SPELLED_IN_TWO_WAYS[encoding] + b"\n" + COUNTING.read_bytes()
    assert source.decode(encoding).encode(encoding) != source
    result = fix(COUNTING, source, False)
    assert (result.source, result.applied) == (source, ())
    assert all(reason for _, reason in result.withheld) and result.withheld


def _plain() -> Iterator[object]:
    """In every run the safe fixes of every fourth text and all fixes of as many others; the rest is slow.

    What is asked of them is asked of texts in other forms, too, and `test_fixtures.py` knows each one's fixed twin.
    """
    for at, path in enumerate(BROKEN):
        for unsafe in (False, True):
            marks = [] if at % 4 == (2 if unsafe else 1) else [pytest.mark.slow]
            yield pytest.param(path, unsafe, id=f"{identity(path)}-{'unsafe' if unsafe else 'safe'}", marks=marks)


@pytest.mark.parametrize(("path", "unsafe"), list(_plain()))
def test_the_plain_text(path: Path, unsafe: bool) -> None:
    source = plain(path).encode()
    linter_of.cache_clear()  # the linter knows nothing of it yet
    check_form(path, source, fix(path, source, unsafe), unsafe)


def places(text: str) -> tuple[list[int], list[tuple[int, str]]]:
    """The lines (from 0) at whose end a comment may be added, and those before which one may, with its indentation."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    ends = [token.start[0] - 1 for token in tokens if token.type == tokenize.NEWLINE]
    taken = {token.start[0] - 1 for token in tokens if token.type == tokenize.COMMENT}
    starts, at_start = [], True
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            at_start = True
        elif at_start and token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
            starts.append((token.start[0] - 1, token.line[: token.start[1]]))
            at_start = False
    return [line for line in ends if line not in taken], starts[:-1]


def commented(text: str, at_ends: set[int], before: set[int]) -> str:
    """The text with a comment at the ends of some lines and between some statements."""
    ends, starts = places(text)
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(ends):
        if number in at_ends:
            lines[line] = f"{lines[line].rstrip()}  # note {line}\n"
    for number, (line, indent) in enumerate(starts):
        if number in before:
            lines[line] = f"{indent}# note {line}\n{lines[line]}"
    return "".join(lines)


# Their fix would remove a line with its comment: with a comment the fix is left to the author.
LOSES_A_LINE = frozenset(
    {"bypassed_wrapper/broken", "double_sharded_data/broken", "sharded_save_on_one_rank/broken_trainer"}
)


def with_comments(path: Path, unsafe: bool) -> set[str]:
    """The possible results for a text with comments, without the comments."""
    return {mended(path, unsafe), *([plain(path)] if identity(path) in LOSES_A_LINE else [])}


@given(
    path=st.sampled_from(BROKEN),
    at_ends=st.sets(st.integers(0, 60)),
    before=st.sets(st.integers(0, 60)),
    unsafe=st.booleans(),
)
def comments_stay(path: Path, at_ends: set[int], before: set[int], unsafe: bool) -> None:
    source = commented(plain(path), at_ends, before).encode()
    assert NOTE.sub("", source.decode()) == plain(path)
    result = fix(path, source, unsafe)
    check_form(path, source, result, unsafe)
    assert NOTE.sub("", result.source.decode()) in with_comments(path, unsafe)


@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_comments_stay_and_change_nothing(examples: int) -> None:
    settings(max_examples=examples, deadline=None, derandomize=True)(comments_stay)()


ALL = set(range(200))
# In every run every sixth text, and all whose fix would lose a comment; the rest is slow.
COMMENTED = [
    pytest.param(
        path, id=identity(path), marks=[] if at % 6 == 0 or identity(path) in LOSES_A_LINE else [pytest.mark.slow]
    )
    for at, path in enumerate(BROKEN)
]


@pytest.mark.parametrize("path", COMMENTED)
def test_a_comment_at_every_line_and_between_all_statements(path: Path) -> None:
    source = commented(plain(path), ALL, ALL).encode()
    result = fix(path, source, True)
    check_form(path, source, result, True)
    assert NOTE.sub("", result.source.decode()) in with_comments(path, True)


@given(
    path=st.sampled_from(BROKEN),
    notes=st.sets(st.integers(0, 60)),
    crlf=st.booleans(),
    bom=st.booleans(),
    tabs=st.booleans(),
    final=st.booleans(),
)
def forms_together(path: Path, notes: set[int], crlf: bool, bom: bool, tabs: bool, final: bool) -> None:
    text = commented(plain(path), notes, notes)
    text = _reindented(text, "    ", "\t") if tabs else text
    text = text if final else text.removesuffix("\n")
    text = text.replace("\n", "\r\n") if crlf else text
    source = text.encode("utf-8-sig" if bom else "utf-8")
    result = fix(path, source, True)
    check_form(path, source, result, True)
    assert result.source.endswith(b"\n") == final
    assert len(result.applied) == len(fix(path, plain(path).encode(), True).applied)


@pytest.mark.parametrize("examples", [10, pytest.param(30, marks=pytest.mark.slow)])
def test_forms_together(examples: int) -> None:
    settings(max_examples=examples, deadline=None, derandomize=True)(forms_together)()


# --- the file on the disk, with the real linter ---------------------------------------------------------

COUNTING = FIXTURES / "item_before_gather" / "broken.py"


def call(*args: str, stdin: bytes | None = None):
    return CliRunner().invoke(main, ["--isolated", "--output-format=concise", *args], input=stdin)


def raw(form: str = "crlf") -> bytes:
    return FORMS[form].write(plain(COUNTING))


def fixed(form: str = "crlf") -> bytes:
    return FORMS[form].write(mended(COUNTING, False))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("form", ["crlf", "bom", "latin-1", "no final newline"])
def test_a_script_behind_a_link_keeps_mode_link_and_bytes(folder: Path, form: str) -> None:
    script = folder / "script"
    script.write_bytes(raw(form))
    script.chmod(0o755)
    (folder / "train.py").symlink_to(script)
    done = call("--fix", "train.py")
    # The number in the gather; that `gather_for_metrics` then cuts the gathered values is not an old finding.
    line = next(number for number, text in enumerate(raw(form).splitlines(), 1) if b".item()" in text)
    assert (done.exit_code, "Fixed 1 finding in 1 file" in done.output) == (0, True)
    assert f"  train.py:{line}:37: TRL001 item-before-gather\n" in done.output
    assert script.read_bytes() == fixed(form)
    assert script.stat().st_mode & 0o777 == 0o755
    assert (folder / "train.py").is_symlink()
    assert {entry.name for entry in folder.iterdir()} == {"script", "train.py"}


@pytest.mark.parametrize("form", ["crlf", "bom", "latin-1", "no final newline"])
def test_standard_input_is_mended_to_the_byte(folder: Path, form: str) -> None:
    done = call("--fix", "-", stdin=raw(form))
    assert (done.exit_code, done.stdout_bytes) == (0, fixed(form))
    assert list(folder.iterdir()) == []


def test_a_file_that_changes_while_it_is_analysed_is_left_alone(folder: Path, monkeypatch) -> None:
    path = folder / "train.py"
    path.write_bytes(raw())
    propose = runner.propose

    def propose_while_the_user_types(*args, **options):
        result = propose(*args, **options)
        path.write_bytes(raw() + b"# typed\r\n")
        return result

    monkeypatch.setattr(runner, "propose", propose_while_the_user_types)
    done = call("--fix", "train.py")
    assert (done.exit_code, "train.py: not fixed: the file has changed since it was read" in done.output) == (2, True)
    assert path.read_bytes() == raw() + b"# typed\r\n"


# --- the check of a fix's result ------------------------------------------------------------------------

TWO = """from accelerate import Accelerator

accelerator = Accelerator()


def first(batch):
    return accelerator.gather(batch["x"].sum().item())


def second(batch):
    return accelerator.gather(batch["y"].sum().item())


def main(loader):
    for batch in accelerator.prepare(loader):
        first(batch)
        second(batch)
"""


def _leaves(text: str) -> str:
    return text.replace("def first", "# rewritten\ndef first")


def _adds(text: str) -> str:
    return text.replace("def first(batch):\n", "def first(batch):\n    accelerator.gather(len(batch))\n") + "\n"


def _breaks(text: str) -> str:
    return text.replace("def first(batch):", "def first(batch:")


def bad_codemod(spoil: Callable[[str], str], real, fixes) -> str:
    """A codemod that spoils the first function, and does its work in the second."""
    tree = fixes[0].violation.module.tree
    wrong = [fix for fix in fixes if 'batch["x"]' in tree.code_for_node(fix.violation.node)]
    right = [fix for fix in fixes if fix not in wrong]
    done = real(right) if right else tree.code
    return spoil(done) if wrong else done


@pytest.mark.parametrize("spoil", [_leaves, _adds, _breaks])
def test_a_fix_that_does_harm_is_withheld_and_the_other_one_applied(folder: Path, monkeypatch, spoil) -> None:
    path = folder / "train.py"
    path.write_text(TWO)
    assert codes(linter(path).check(path, TWO.encode())) == ["TRL001", "TRL001"]
    monkeypatch.setattr(fixing, "transformed", partial(bad_codemod, spoil, fixing.transformed))
    result = linter(path).fix(path, TWO.encode())
    right = TWO.replace('batch["y"].sum().item())', 'batch["y"].sum()).sum().item()')
    assert result.source.decode() == right
    assert [finding.start.line for finding in result.applied] == [11]
    assert [(finding.start.line, bool(reason)) for finding, reason in result.withheld] == [(7, True)]
    assert [finding.start.line for finding in result.remaining] == [7]
    done = call("--fix", "train.py")
    reason = result.withheld[0][1]
    assert done.exit_code == 1
    assert f"Withheld 1 fix:\n  train.py:7:12: TRL001 item-before-gather: {reason}\n" in done.output
    assert path.read_text() == right


# --- fixes that reveal another rule's findings ----------------------------------------------------------

RANK_GUARDED = """from accelerate import Accelerator


def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        if accelerator.is_main_process:
            {line}
            print(found)
"""


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        # The first one in the order of codes is only useful once the last one has moved out of its condition.
        (
            'found = accelerator.reduce(loss.item(), "mean")',
            'found = accelerator.reduce(loss, reduction="mean").item()',
        ),
        ("found = accelerator.gather(loss.item()).mean()", "        gathered_loss = accelerator.gather(loss)\n"),
        (
            "found = accelerator.gather_for_metrics(loss.item()).mean()",
            "        gathered_loss = accelerator.gather(loss)\n",
        ),
    ],
)
def test_one_run_mends_what_a_later_rule_uncovers(line: str, fixed: str) -> None:
    text = RANK_GUARDED.format(line=line)
    result = linter(SNIPPET).fix(SNIPPET, text.encode(), unsafe=True)
    assert fixed in result.source.decode()
    again = linter(SNIPPET).fix(SNIPPET, result.source, unsafe=True)
    assert (again.source, again.applied) == (result.source, ())
    assert codes(result.remaining) == [] == codes(again.remaining)


def test_what_is_withheld_is_said_once_however_often_the_rules_are_gone_through(monkeypatch) -> None:
    text = TWO.replace('batch["x"].sum().item()', 'batch["x"].sum().item(), 0') + RANK_GUARDED.format(
        line='found = accelerator.reduce(loss.item(), "mean")'
    ).removeprefix("from accelerate import Accelerator\n").replace("def main", "def guarded")
    real = fixing.transformed

    def spoilt(fixes):
        return bad_codemod(_leaves, real, fixes) if fixes[0].title.startswith("Pass a tensor") else real(fixes)

    monkeypatch.setattr(fixing, "transformed", spoilt)
    result = linter(SNIPPET).fix(SNIPPET, text.encode(), unsafe=True)
    assert {finding.code for finding in result.applied} == {"TRL001", "TRL006"}
    assert [finding.start.line for finding, _ in result.withheld] == [7]


def test_a_codemod_that_fails_leaves_the_file_as_it_is(folder: Path, monkeypatch) -> None:
    path = folder / "train.py"
    path.write_text(TWO)
    monkeypatch.setattr(fixing, "transformed", lambda fixes: 1 / 0)
    done = call("--fix", "train.py")
    assert (done.exit_code, "internal error: ZeroDivisionError" in done.output) == (2, True)
    assert path.read_text() == TWO
