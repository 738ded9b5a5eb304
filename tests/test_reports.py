"""Output formats, for constructed findings."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fake_linter import finding

from trl_lint import reports
from trl_lint.findings import Consequence, Guard, Note, Position
from trl_lint.linter.runner import FileResult
from trl_lint.reports.frames import framed

SOURCE = b"import os\nx = BUG + 1\ny = RISKY\nz = HINT\n"


@pytest.fixture(autouse=True)
def _stand_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


def result(*words: str, source: bytes = SOURCE, **rest) -> FileResult:
    path = str(Path.cwd() / "train.py")
    rows = {"BUG": 2, "RISKY": 3, "HINT": 4}
    found = tuple(finding(word, path, rows[word], 5) for word in words)
    return FileResult(Path(path), source, found, **rest)


def shown(name: str, *results: FileResult, **options) -> str:
    out = io.StringIO()
    report = reports.load(name)(out, **options)
    for each in results:
        report.add(each)
    report.close()
    return out.getvalue()


def carets(source: str, start: tuple[int, int], end: tuple[int, int]) -> list[str]:
    """The frame of a finding, as plain lines."""
    made = replace(finding("BUG", "x.py", *start), end=Position(*end))
    lines = framed(made, source.splitlines(keepends=True), ())
    return ["".join(text for text, _ in line) for line in lines]


def test_text():
    assert shown("text", result("BUG")) == (
        "train.py:2:5: TRL001 [*] [crash] item-before-gather: BUG is here\n"
        "  |\n"
        "1 | import os\n"
        "2 | x = BUG + 1\n"
        "  |     ^^^\n"
        "  |\n"
        "  because: it was written (train.py:1)\n"
        "  help: write good\n"
        "\n"
        "Found 1 finding in 1 file (1 fixable with --fix).\n"
        "1 file analysed.\n"
    )


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (3, ["loss", "call 1", "call 2", "call 3", "shown"]),
        (4, ["loss", "… 2 more calls", "call 3", "call 4", "shown"]),
        (9, ["loss", "… 7 more calls", "call 8", "call 9", "shown"]),
    ],
)
def test_text_leaves_out_calls_that_only_hand_a_value_on(calls, expected):
    here = Position(1, 1)
    handed = tuple(Note(f"call {number}", "helpers.py", here, hands_on=True) for number in range(1, calls + 1))
    because = (Note("loss", "train.py", here), *handed, Note("shown", "train.py", here))
    found = result("BUG")
    text = shown("text", found._replace(findings=(replace(found.findings[0], because=because),)))
    assert [line.partition(": ")[2].partition(" (")[0] for line in text.splitlines() if "because" in line] == expected
    rows = json.loads(shown("json", found._replace(findings=(replace(found.findings[0], because=because),))))
    assert len(rows[0]["because"]) == calls + 2


def test_text_says_why_a_fix_is_not_applied():
    text = shown("text", result("RISKY", "HINT"))
    assert "  fix: only with --unsafe-fixes: it is risky\n" in text
    assert "  no automatic fix: it is hint\n" in text
    assert "[*]" not in text
    assert "\nFound 2 findings in 1 file (1 with --unsafe-fixes).\n" in text


def test_text_without_help_names_the_fix():
    bare = replace(result("BUG").findings[0], help="", because=())
    text = shown("text", FileResult(Path("train.py"), SOURCE, (bare,)))
    assert "  help: Write good\n" in text
    assert "because" not in text


def test_unsafe_fixes_count_once_the_user_allows_them():
    text = shown("text", result("BUG", "RISKY"), unsafe=True)
    assert "TRL003 [*] [wrong-number] unreduced-metric" in text
    assert "only with" not in text
    assert "\nFound 2 findings in 1 file (2 fixable with --fix).\n" in text


@pytest.mark.parametrize("name", ["text", "concise"])
def test_summary(name):
    text = shown(name, result("BUG", "RISKY", "HINT"), result())
    last = "2 files analysed.\n" * (name == "text")
    assert text.endswith(f"Found 3 findings in 1 file (1 fixable with --fix, 1 more with --unsafe-fixes).\n{last}")


def test_summary_after_fixing():
    mended = result("RISKY", applied=result("BUG").findings, withheld=((result("HINT").findings[0], "no way"),))
    assert shown("concise", mended, fixing=True) == (
        "train.py:3:5: TRL003 [wrong-number] unreduced-metric: RISKY is here\n"
        "Fixed 1 finding in 1 file:\n"
        "  train.py:2:5: TRL001 item-before-gather\n"
        "Withheld 1 fix:\n"
        "  train.py:4:5: TRL002 wrapped-model-attribute: no way\n"
        "Found 1 finding in 1 file (1 with --unsafe-fixes).\n"
    )


def test_nothing_found():
    assert shown("text", result()) == "All clear: no findings.\n1 file analysed.\n"
    assert shown("concise", result()) == ""
    assert shown("json", result()) == "[]\n"


def test_no_all_clear_for_what_was_not_linted():
    assert shown("text") == ""
    failed = result(problem="train.py: internal error", understood=False)
    assert shown("text", result(), failed) == "1 file analysed, 1 not understood.\n"
    assert shown("text", result(relevant=False)) == "0 files analysed, 1 skipped as irrelevant.\n"


def test_concise():
    assert shown("concise", result("BUG", "HINT")).splitlines()[:2] == [
        "train.py:2:5: TRL001 [*] [crash] item-before-gather: BUG is here",
        "train.py:4:5: TRL002 [crash] wrapped-model-attribute: HINT is here",
    ]


def test_paths_outside_are_absolute(tmp_path, monkeypatch):
    made = result("BUG")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert shown("concise", made).startswith(f"{tmp_path / 'train.py'}:2:5: ")


def test_json():
    (row,) = json.loads(shown("json", result("RISKY")))
    path = str(Path.cwd() / "train.py")
    assert row == {
        "version": 1,
        "cell": None,
        "code": "TRL003",
        "name": "unreduced-metric",
        "severity": "warning",
        "message": "RISKY is here",
        "help": "write good",
        "filename": path,
        "location": {"row": 3, "column": 5},
        "end_location": {"row": 3, "column": 10},
        "fix": {
            "applicability": "unsafe",
            "message": "Write good",
            "edits": [
                {
                    "content": "good",
                    "location": {"row": 3, "column": 5},
                    "end_location": {"row": 3, "column": 10},
                }
            ],
            "reason": "it is risky",
            "conditions": [],
        },
        "url": None,
        "guard": None,
        "because": [{"cell": None, "message": "it was written", "filename": path, "location": {"row": 1, "column": 1}}],
        "noqa_row": 3,
        "consequence": "wrong-number",
        "also": [],
    }


def test_json_names_the_page_of_the_rule_where_there_is_one(monkeypatch):
    monkeypatch.setattr("trl_lint.findings.DOCS_URL", "https://example.org/")
    (row,) = json.loads(shown("json", result("RISKY")))
    assert row["url"] == "https://example.org/rules/unreduced-metric/"


def test_json_without_a_fix_and_inside_a_string():
    bare = replace(result("BUG").findings[0], fix=None)
    source = b'import os\nx = """\n""" + BUG\n'
    (row,) = json.loads(shown("json", FileResult(Path("train.py"), source, (bare,))))
    assert (row["fix"], row["noqa_row"]) == (None, 3)


def test_json_has_ruffs_keys(tmp_path, monkeypatch):
    """The keys of a finding of ruff itself are among ours, and have the same shape."""
    monkeypatch.setattr("trl_lint.findings.DOCS_URL", "https://example.org/")  # as ruff's is published
    ruff = pytest.importorskip("ruff").find_ruff_bin()
    (tmp_path / "x.py").write_text("import os\n")
    command = [ruff, "check", "--isolated", "--output-format=json", "--select=F401", "x.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    (theirs,) = json.loads(done.stdout)
    (ours,) = json.loads(shown("json", result("BUG")))
    same = ("cell", "code", "message", "filename", "location", "end_location", "fix", "url", "noqa_row", "severity")
    for key in same:
        assert type(ours[key]) is type(theirs[key]), key
    assert ours["fix"].keys() >= theirs["fix"].keys()
    assert ours["fix"]["edits"][0].keys() == theirs["fix"]["edits"][0].keys()
    assert ours["location"].keys() == theirs["location"].keys()


def test_json_says_why_a_fix_is_not_safe():
    made = result("RISKY")
    (found,) = made.findings
    condition = Note("not all ranks may get here", "train.py", Position(2, 1))
    found = replace(found, fix=replace(found.fix, conditions=(condition,)), help="")
    (row,) = json.loads(shown("json", made._replace(findings=(found,))))
    place = {"filename": str(Path.cwd() / "train.py"), "location": {"row": 2, "column": 1}}
    assert row["fix"]["conditions"] == [{"cell": None, "message": "not all ranks may get here", **place}]
    assert (row["fix"]["reason"], row["help"]) == ("it is risky", "Write good")


def test_json_lines_are_the_rows_of_json():
    made = result("BUG", "RISKY")
    lines = shown("json-lines", made, result("HINT")).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(shown("json", made, result("HINT")))
    assert len(lines) == 3


def test_grouped():
    wide = replace(result("BUG").findings[0], start=Position(2, 15))
    other = FileResult(Path("other.py"), SOURCE, (wide, *result("HINT").findings))
    assert shown("grouped", result("BUG"), result(), other) == (
        "train.py:\n"
        "  2:5  TRL001 [*] [crash] item-before-gather: BUG is here\n"
        "\n"
        "other.py:\n"
        "  2:15  TRL001 [*] [crash] item-before-gather: BUG is here\n"
        "  4:5   TRL002 [crash] wrapped-model-attribute: HINT is here\n"
        "\n"
        "Found 3 findings in 1 file (2 fixable with --fix).\n"
    )


@pytest.mark.parametrize("name", ["text", "concise", "grouped"])
def test_quiet_shows_findings_alone(name):
    mended = result("RISKY", applied=result("BUG").findings)
    loud, quiet = (shown(name, mended, fixing=True, quiet=each) for each in (False, True))
    assert loud.startswith(quiet) and "RISKY is here" in quiet
    assert "Fixed 1 finding" in loud and "Found 1 finding" in loud
    assert "Fixed" not in quiet and "Found" not in quiet
    assert shown(name, result(), quiet=True) == ""


# For services


def test_severity_follows_the_consequence():
    grades = {each.value: each.severity.value for each in Consequence}
    assert grades == {
        "crash": "error",
        "deadlock": "error",
        "wrong-training": "error",
        "wrong-number": "warning",
        "race": "warning",
        "waste": "note",
        "stale": "warning",
    }


def of_kind(consequence: Consequence, **changed) -> FileResult:
    made = result("BUG")
    return made._replace(findings=(replace(made.findings[0], consequence=consequence, **changed),))


@pytest.mark.parametrize(
    ("consequence", "github", "gitlab", "sarif"),
    [
        (Consequence.DEADLOCK, "error", "critical", "error"),
        (Consequence.RACE, "warning", "major", "warning"),
        (Consequence.WASTE, "notice", "info", "note"),
    ],
)
def test_each_service_has_its_own_words_for_it(consequence, github, gitlab, sarif):
    made = of_kind(consequence)
    assert shown("github", made).startswith(f"::{github} title=TRL001 item-before-gather,file=train.py,line=2,")
    assert json.loads(shown("gitlab", made))[0]["severity"] == gitlab
    assert json.loads(shown("sarif", made))["runs"][0]["results"][0]["level"] == sarif


def test_github_takes_no_columns_of_several_lines():
    one, two = (shown("github", of_kind(Consequence.CRASH, end=Position(row, 6))) for row in (2, 3))
    assert "file=train.py,line=2,endLine=2,col=5,endColumn=6::train.py:2:5: TRL001 BUG is here" in one
    assert "file=train.py,line=2,endLine=3::train.py:2:5: TRL001 BUG is here" in two


def test_github_is_given_no_other_command(monkeypatch):
    path = str(Path.cwd() / "a,b:c%0A.py")
    made = of_kind(Consequence.CRASH, path=path, message="100%\n::stop-commands::x", help="50%")
    (line,) = shown("github", made).splitlines()
    assert ",file=a%2Cb%3Ac%250A.py,line=2," in line
    # A line end in a message must not end the note; only ours do.
    assert line.endswith("::a,b:c%250A.py:2:5: TRL001 100%25\\n::stop-commands::x%0Ahelp: 50%25")


def test_gitlab():
    (row,) = json.loads(shown("gitlab", result("RISKY")))
    assert re.fullmatch("[0-9a-f]{32}", row.pop("fingerprint"))
    assert row == {
        "check_name": "TRL003",
        "description": "TRL003 unreduced-metric: RISKY is here",
        "severity": "major",
        "categories": ["Bug Risk"],
        "content": {"body": "write good"},
        "location": {
            "path": "train.py",
            "positions": {"begin": {"line": 3, "column": 5}, "end": {"line": 3, "column": 10}},
        },
    }
    assert shown("gitlab", result()) == "[]\n"


def test_gitlab_knows_no_two_findings_by_one_fingerprint():
    twice = result("BUG")._replace(findings=result("BUG").findings * 2)
    moved = replace(twice.findings[0], path=str(Path.cwd() / "other.py"))
    other = FileResult(Path("other.py"), SOURCE, (moved,))
    rows = json.loads(shown("gitlab", twice, other))
    assert len({row["fingerprint"] for row in rows}) == len(rows) == 3


def test_junit():
    failed = FileResult(Path("cut.py"), problem="cut.py:1:1: cannot parse: \x1b", understood=False)
    irrelevant = FileResult(Path("harmless.py"), relevant=False)
    text = shown("junit", result("BUG"), failed, irrelevant, result()._replace(path=Path("clean.py")))
    document = ElementTree.fromstring(text)
    counts = {name: document.get(name) for name in ("tests", "failures", "errors")}
    assert counts == {"tests": "3", "failures": "1", "errors": "1"}
    suites = {suite.get("name"): [child.tag for case in suite for child in case] for suite in document}
    assert suites == {"train.py": ["failure"], "cut.py": ["error"], "clean.py": []}
    (failure,) = document.iter("failure")
    assert failure.get("type") == "error: crash"
    assert failure.text.splitlines() == [
        "train.py:2:5: TRL001 [crash] item-before-gather: BUG is here",
        "because: it was written (train.py:1)",
        "help: write good",
    ]
    assert [error.get("message") for error in document.iter("error")] == ["cut.py:1:1: cannot parse: \\x1b"]


# Conditions that keep ranks away

GUARDED = b"import os\nif main:\n    pass\n    x = BUG\n"


def guarded(line: int = 2, path: str = "train.py", place: int = 4) -> FileResult:
    """A finding at `place`, and a condition that keeps ranks away at `line`; the chain has a step before it and one
    after.
    """
    path = str(Path.cwd() / path)
    (found,) = result("BUG").findings
    guard = Guard("`main` differs", path, Position(line, 4), Position(line, 8), "only some get here")
    step = Note(guard.text, path, guard.start)
    because = (*found.because, step, Note("it is called there", found.path, Position(1, 1)))
    start, end = Position(place, 9), Position(place, 12)
    found = replace(found, guard=guard, because=because, start=start, end=end)
    return FileResult(Path("train.py"), GUARDED, (found,))


def lines_of(text: str) -> list[str]:
    return text.partition("BUG is here\n")[2].partition("  help")[0].splitlines()


def test_text_shows_two_places_with_the_chain_between():
    assert lines_of(shown("text", guarded())) == [
        "  |",
        "2 | if main:",
        "  |    ---- differs",
        "  |",
        "  because: it was written (train.py:1)",
        "  because: it is called there (train.py:1)",
        "  |",
        "3 |     pass",
        "4 |     x = BUG",
        "  |         ^^^ only some get here",
        "  |",
    ]


def test_text_shows_no_line_twice():
    assert lines_of(shown("text", guarded(line=3)))[-4:] == [
        "  |",
        "4 |     x = BUG",
        "  |         ^^^ only some get here",
        "  |",
    ]
    assert lines_of(shown("text", guarded(line=4)))[:5] == [
        "  |",
        "3 |     pass",
        "4 |     x = BUG",
        "  |    ---- `main` differs",
        "  |         ^^^ only some get here",
    ]


@pytest.mark.parametrize("there", [{"path": "other.py"}, {"line": 99}])
def test_text_shows_one_place_where_the_other_is_not_in_sight(there):
    assert lines_of(shown("text", guarded(**there)))[:4] == [
        "  |",
        "3 |     pass",
        "4 |     x = BUG",
        "  |         ^^^",
    ]
    assert "because: `main` differs" in shown("text", guarded(**there))


def test_json_has_both_places():
    (row,) = json.loads(shown("json", guarded()))
    assert row["guard"] == {
        "cell": None,
        "message": "`main` differs",
        "filename": str(Path.cwd() / "train.py"),
        "location": {"row": 2, "column": 4},
        "end_location": {"row": 2, "column": 8},
        "here": "only some get here",
    }
    assert len(row["because"]) == 3


def test_a_code_is_a_link_in_colour_and_where_there_is_a_page(monkeypatch):
    assert "\x1b]8;" not in shown("text", result("BUG"), colour=True)
    monkeypatch.setattr("trl_lint.findings.DOCS_URL", "https://example.org/")
    linked = re.escape("https://example.org/rules/item-before-gather/\x1b\\")
    assert re.search(rf"\x1b]8;[^;]*;{linked}.*TRL001", shown("text", result("BUG"), colour=True))
    assert "example.org" not in shown("text", result("BUG"))


@pytest.mark.parametrize(
    ("source", "start", "end", "expected"),
    [
        ("x = BUG\n", (1, 5), (1, 8), ["  |", "1 | x = BUG", "  |     ^^^", "  |"]),
        ("\tBUG\n", (1, 2), (1, 5), ["  |", "1 |     BUG", "  |     ^^^", "  |"]),
        ("'日本', BUG", (1, 7), (1, 10), ["  |", "1 | '日本', BUG", "  |         ^^^", "  |"]),
        ("f(\n  1)\n", (1, 1), (2, 5), ["  |", "1 | f(", "  | ^^", "  |"]),
        ("\nx\n", (2, 1), (2, 1), ["  |", "2 | x", "  | ^", "  |"]),
        ("\x1b[31mx\n", (1, 6), (1, 7), ["  |", "1 | ·[31mx", "  |      ^", "  |"]),
        ("x\n", (2, 1), (2, 2), []),
        ("x\n", (1, 9), (1, 12), ["  |", "1 | x", "  |  ^", "  |"]),
    ],
)
def test_frames(source, start, end, expected):
    assert carets(source, start, end) == expected


def test_frames_of_long_lines_show_the_part_that_matters():
    _, code, marks, _ = carets("a = " + "1 + " * 200 + "BUG\n", (1, 805), (1, 808))
    assert len(code) < 200
    assert code[marks.index("^") : marks.rindex("^") + 1] == "BUG"


def test_frames_line_up_where_numbers_grow():
    assert carets("a\n" * 9 + "BUG\n", (10, 1), (10, 4)) == ["   |", " 9 | a", "10 | BUG", "   | ^^^", "   |"]


def test_colour_changes_nothing_but_the_colour():
    made = result("BUG", "RISKY", source=SOURCE.replace(b"import os", b"# [red] :smile: " + b"w" * 300))
    coloured = shown("text", made, colour=True)
    assert "\x1b[1;31mTRL001\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown("text", made)


def test_rich_is_imported_for_findings_in_colour_only():
    script = (
        "import io, sys\n"
        "from test_reports import reports, result\n"
        "def used(*words, **options):\n"
        "    report = reports.load('text')(io.StringIO(), **options)\n"
        "    report.add(result(*words))\n"
        "    report.close()\n"
        "    return 'rich' in sys.modules\n"
        "print(used('BUG'), used(colour=True), used('BUG', colour=True))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False False True\n"
