"""Output formats, from findings made by hand."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fake_linter import finding

from trl_lint import reports
from trl_lint.findings import Note, Position
from trl_lint.linter.runner import FileResult
from trl_lint.reports.text import frame

SOURCE = b"import os\nx = BUG + 1\ny = RISKY\nz = HINT\n"


@pytest.fixture(autouse=True)
def _stand_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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
    lines = frame(made, source.splitlines(keepends=True))
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
    text = shown("text", replace(found, findings=(replace(found.findings[0], because=because),)))
    assert [line.partition(": ")[2].partition(" (")[0] for line in text.splitlines() if "because" in line] == expected
    rows = json.loads(shown("json", replace(found, findings=(replace(found.findings[0], because=because),))))
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
    assert shown("text", result(relevant=False)) == "0 files analysed, 1 passed over as irrelevant.\n"


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
        "cell": None,
        "code": "TRL003",
        "name": "unreduced-metric",
        "message": "RISKY is here",
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
        },
        "url": None,
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
    for key in ("cell", "code", "message", "filename", "location", "end_location", "fix", "url", "noqa_row"):
        assert type(ours[key]) is type(theirs[key]), key
    assert ours["fix"].keys() == theirs["fix"].keys()
    assert ours["fix"]["edits"][0].keys() == theirs["fix"]["edits"][0].keys()
    assert ours["location"].keys() == theirs["location"].keys()


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
