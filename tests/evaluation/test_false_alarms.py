"""Small programs with the causes of the false alarms on foreign code bases, each beside its neighbour that is wrong.

`# false: TRL0nn` is on a line that is reported and should not be. When it no longer is, the mark goes and the program
stays; `# expect: TRL0nn` is on a line whose finding is right, and must not go with it. A first line
`# named: test_x.py` says what the file is called, where the name matters.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from trl_lint import api
from trl_lint.settings import EVERY_RULE, Settings

PROGRAMS = sorted((Path(__file__).parent / "false_alarms").glob("*.py"))
MARK = re.compile(r"# (?:false|expect): (TRL\d{3})$")
NAMED = re.compile(r"# named: (\S+)\n")


def marks(text: str) -> Counter[tuple[int, str]]:
    """What a program is marked to be reported for, by line and rule."""
    found = ((number, MARK.search(line)) for number, line in enumerate(text.splitlines(), 1))
    return Counter((number, mark[1]) for number, mark in found if mark)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_marked_is_reported_and_nothing_else(program, tmp_path):
    text = program.read_text()
    named = NAMED.match(text)
    copy = tmp_path / (named[1] if named else program.name)
    copy.write_text(text)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, select=(EVERY_RULE,), preview=True))
    assert Counter((each.start.line, each.code) for each in findings) == marks(text)


def test_there_are_programs_with_marks():
    assert PROGRAMS
    assert all(marks(path.read_text()) for path in PROGRAMS if "expect" in path.read_text())
