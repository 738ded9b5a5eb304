"""`# noqa`: our reading against flake8's own, and what ours adds (names, codes for a whole file)."""

from __future__ import annotations

from pathlib import Path

import pytest
from forks import module

from trl_lint import api
from trl_lint.findings import Finding, Position
from trl_lint.linter.comments.suppressions import Comments, split
from trl_lint.linter.decoding import decode
from trl_lint.settings import Settings

CODE, NAME = "TRL001", "item-before-gather"


def finding(line: int, code: str = CODE, name: str = NAME) -> Finding:
    return Finding(code, name, "message", "x.py", Position(line, 1), Position(line, 2))


def standing(source: str | bytes, *lines: int) -> list[int]:
    """The lines among `lines` (default: all) whose finding is not silenced by a comment."""
    data = source.encode() if isinstance(source, str) else source
    wanted = lines or range(1, len(data.splitlines()) + 1)
    return [kept.start.line for kept in split([finding(line) for line in wanted], data)[0]]


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# noqa", True),
        ("# NoQA", True),
        ("# noqa: TRL001", True),
        ("# noqa:TRL001", True),
        ("# noqa: E501,TRL001", True),
        ("# noqa: E501 TRL001", True),
        ("# noqa: TRL001 as rank 0 alone logs", True),
        ("# noqa: TRL0", True),
        ("# noqa: TRL002", False),
        ("# noqa: E501", False),
        ("# noqa: trl001", False),
        ("#noqa", False),
        ("# no qa", False),
        ("# noqa: item-before-gather", True),
        ("# noqa: Item-Before-Gather", True),
        ("# noqa: E501, item-before-gather", True),
        ("# noqa: unreduced-metric", False),
        ("# noqa: unreduced-metric,TRL001", True),
    ],
)
def test_inline(comment, silent):
    assert standing(f"x = 1  {comment}\n") == ([] if silent else [1])


@pytest.mark.parametrize("comment", ["# noqa: because I say so", "# noqa:  TRL002", "# noqa: TRL", "# noqa - later"])
def test_what_is_not_a_code_leaves_a_bare_noqa(comment):
    assert standing(f"x = 1  {comment}\n") == []


def test_a_name_must_be_whole():
    assert standing("x = 1  # noqa: E501, item-before-gathering\n") == [1]


def test_what_was_silenced_is_told_apart():
    first, second = finding(1), finding(2)
    assert split([first, second], b"x = 1  # noqa\ny = 2\n") == ([second], [first])


def test_joined_lines_share_a_comment():
    source = 'x = """\n  a\n"""  # noqa\ny = 1 + \\\n    2  # noqa: TRL001\nz = 3\n'
    assert standing(source) == [6]
    assert [Comments(source.encode()).noqa_row(finding(line)) for line in range(1, 7)] == [3, 3, 3, 5, 5, 6]


def test_brackets_do_not_join_lines():
    source = "x = f(\n    1,  # noqa\n    2,\n)  # noqa\n"
    assert standing(source) == [1, 3]
    assert Comments(source.encode()).noqa_row(finding(1)) == 1


@pytest.mark.parametrize(
    ("line", "silent"),
    [
        ("# flake8: noqa", True),
        ("   # FLAKE8=NOQA", True),
        ("# flake8: noqa: TRL001", True),
        ("# flake8: noqa: E501, item-before-gather", True),
        ("# flake8: noqa: TRL002", False),
        ("# flake8: noqa: unreduced-metric", False),
        ("x = 2  # flake8: noqa", False),
    ],
)
def test_whole_file(line, silent):
    assert standing(f"x = 1\n{line}\n", 1) == ([] if silent else [1])


def test_one_bare_line_for_the_file_outdoes_one_with_codes():
    assert standing("# flake8: noqa: E501\n# flake8: noqa\nx = 1\n", 3) == []


@pytest.mark.parametrize(
    "source",
    [
        b"x = (  # noqa\n",
        b"x = '''  # noqa\n",
        b"\x00  # noqa\n",
        b"# -*- coding: nonsense -*-\nx = 1  # noqa\n",
        b"\xff\xfe = 1  # noqa\n",
        b"if x:\n    y\n  z  # noqa\n",
    ],
)
def test_odd_input_falls_back_to_plain_lines(source):
    last = len(source.splitlines())
    assert standing(source, last) == []
    assert standing(source, last + 5) == [last + 5]


def test_bytes_decide_first(monkeypatch):
    monkeypatch.setattr("tokenize.tokenize", lambda readline: pytest.fail("tokenized without need"))
    assert standing("x = 1\n") == [1]
    assert split([], b"x = 1  # noqa\n") == ([], [])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end):
    assert standing(end.join(["a = 1", "b = 2  # noqa", "c = '\x0c'", "d = 4  # noqa", ""]), 1, 2, 3, 4) == [
        1,
        3,
    ]


def test_encodings():
    assert standing("# coding: latin-1\nx = 'é'  # noqa\n".encode("latin-1"), 2) == []
    assert standing(b"\xef\xbb\xbfx = 1  # noqa\n") == []
    assert decode(b"\xef\xbb\xbfx") == "x"
    assert decode(b"\xe9") == "é"


COMPARED = [
    "x = f(\n    1,\n)  # noqa\n",
    "x = f(\n    1,  # noqa: TRL001\n    2)\n",
    'x = """\na""" + (\n  1)  # noqa\n',
    'x = f("""\na""",  # noqa\n  1)\n',
    "x = 1 + \\\n    2 + \\\n    3  # noqa: TRL001,E501\n",
    "def f():\n    return 1  # noqa:TRL0\n\n# noqa\ny = 2\n",
    "x = 1  # noqa : TRL001\ny = '# noqa'\nz = 3  #noqa\nw = 4  # noqa: trl001\n",
    "x = 1  # noqa: E501 TRL001 and why\ny = 2  # noqa:  E501\nz = 3  # noqa: words\n",
    "# flake8: noqa\nx = 1\n",
    "x = 1  # flake8: noqa\n",
    'x = f"""\n{1}\n"""  # noqa\n',
    "@f(\n  1)  # noqa\ndef g(a,\n      b):  # noqa\n    pass\n",
]


@pytest.mark.parametrize("source", COMPARED)
def test_flake8_agrees(source, tmp_path):
    pytest.importorskip("flake8")
    (tmp_path / "x.py").write_text(source)
    lines = list(range(1, len(source.splitlines()) + 1))
    assert standing(source, *lines) == flake8_lines(tmp_path, lines)


def flake8_lines(folder: Path, lines: list[int]) -> list[int]:
    """The lines of x.py that flake8 shows, with a plugin that has a finding on each of `lines`."""
    (folder / "everywhere.py").write_text(
        "class Plugin:\n    name = version = 'x'\n    def __init__(self, tree): pass\n"
        f"    def run(self):\n        return [(line, 0, 'TRL001 x', None) for line in {lines}]\n"
    )
    (folder / "flake8.ini").write_text(
        "[flake8]\nselect = TRL\n[flake8:local-plugins]\nextension = TRL = everywhere:Plugin\npaths = .\n"
    )
    done = module("flake8", "--config", "flake8.ini", "--format=%(row)d", "-j1", "x.py", folder=folder)
    assert not done.stderr
    return [int(line) for line in done.stdout.split()]


LEAVES = """\
from accelerate import Accelerator


def train(loader, model, optimizer):
    accelerator = Accelerator()
    loader, model, optimizer = accelerator.prepare(loader, model, optimizer)
    for batch in loader:
        if batch["mask"].sum() == 0:{0}
            print("skipped"){1}
            continue{2}
        accelerator.gather(batch["mask"])
"""


@pytest.mark.parametrize(("line", "silences"), [(0, True), (1, False), (2, True), (3, False)])
def test_where_ranks_leave_a_comment_at_the_condition_counts_too(line, silences, tmp_path):
    comments = ["  # noqa: TRL006" * (number == line) for number in range(3)]
    path = tmp_path / "train.py"
    path.write_text(LEAVES.format(*comments))
    found = api.check(tmp_path, Settings(root=tmp_path, select=("TRL006",)))
    assert [(each.start.line, each.lines) for each in found] == [(10, (10, 8))] * (not silences)
