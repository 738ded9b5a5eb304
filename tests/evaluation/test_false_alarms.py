"""Small programs with the causes of the false alarms on foreign code bases, each next to a similar one that is wrong.

`# false: TRL0nn` is on a line that is reported and should not be. Once it is no longer reported, remove the mark and
keep the program; `# expect: TRL0nn` is on a line with a right finding, which must stay. A first line `# named:
test_x.py` gives the name of the file, if it matters.
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
    """The findings for which a program has marks, by line and rule."""
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
    places = (each for finding in findings for each in (finding, *finding.also))
    assert Counter((each.start.line, each.code) for each in places) == marks(text)


def test_there_are_programs_with_marks():
    assert PROGRAMS
    assert all(marks(path.read_text()) for path in PROGRAMS if "expect" in path.read_text())
