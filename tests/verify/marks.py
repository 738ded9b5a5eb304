"""The programs' marks on their own lines: `# cause`, and `# waits: 0 1` where those ranks wait in the end.

`# parts` is where the ranks diverge, and `# goes: 0` where that one continues.
"""

from __future__ import annotations

import re
from pathlib import Path

from trl_lint.verify.proof.session import Subject

PROGRAMS = Path(__file__).with_name("programs")
# Their ranks are only in collectives that can't match: that is told of at once, however long idle ranks are waited for.
NEVER_MEET = ("other_branch", "other_order", "hangs_in_ddp", "each_receives_first", "waits_for_what_it_began")
_MARK = re.compile(r"# (?P<word>cause|goes|last|logs|parts|waits)(?:: (?P<ranks>[\d ]+))?$")


def line(program: str, word: str, rank: int | None = None) -> str:
    """The one line of a program that has this mark, as evidence names it: `file.py:12 `."""
    found = [number for number, mark in _marks(program) if mark["word"] == word and _is_for(mark, rank)]
    assert len(found) == 1, (program, word, rank, found)
    return f"{program}.py:{found[0]} "


def subject(program: str, *args: str) -> Subject:
    return Subject(program, str(PROGRAMS / f"{program}.py"), PROGRAMS, args)


def _marks(program: str) -> list[tuple[int, re.Match[str]]]:
    text = (PROGRAMS / f"{program}.py").read_text(encoding="utf-8")
    found = ((number, _MARK.search(each)) for number, each in enumerate(text.splitlines(), 1))
    return [(number, mark) for number, mark in found if mark]


def _is_for(mark: re.Match[str], rank: int | None) -> bool:
    return rank is None if mark["ranks"] is None else str(rank) in mark["ranks"].split()
