"""The statements of the user's own files that a rank has executed: how often each one, and which ones last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeAlias

from trl_lint.verify.rank import executing
from trl_lint.verify.rank.executing import COLLECTIVE, MOST_STATEMENTS, RING, SIZE, SYNCHRONISES
from trl_lint.verify.record import statements
from trl_lint.verify.record.statements import Statement, Statements


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A file that ran. `source`: the file that its text is from. first, count: the numbers of its statements."""

    file: str
    source: str
    first: int
    count: int

    @property
    def statements(self) -> Statements | None:
        return statements.of_file(self.source, self.count)


@dataclass(frozen=True, slots=True)
class Ran:
    """An execution of a statement: its file, and its number in the file."""

    file: str
    number: int


@dataclass(frozen=True, slots=True)
class Called:
    """The start of a collective: its number among those of the rank, from 0; None for a reduction of DDP itself."""

    number: int | None


Event: TypeAlias = "Ran | Called"


@dataclass
class Executed:
    """What one rank executed.

    Attributes:
        files: The files that are known; without any, nothing is known.
        counts: By statement, how often it ran, including forks of the rank.
        before: By statement, how many collectives the rank had called before it first ran.
        events: The last ones, in order.
        is_whole: Whether these are all events.
        is_sure: Whether statements without a count were not executed.
    """

    files: dict[str, MarkedFile] = field(default_factory=dict)
    counts: dict[Ran, int] = field(default_factory=dict)
    before: dict[Ran, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    is_whole: bool = True
    is_sure: bool = True

    def statement(self, file: str, line: int, column: int = 0) -> Statement | None:
        """The innermost statement at a place, in the text that ran."""
        found = self.files[file].statements if file in self.files else None
        return found.at(line, column) if found else None

    def count(self, file: str, line: int, column: int = 0) -> int | None:
        """How often a place was executed; None if unknown."""
        each = self.statement(file, line, column)
        count = self.counts.get(Ran(file, each.number), 0) if each else None
        return count if count or self.is_sure else None

    def calls_before(self, file: str, line: int, column: int = 0) -> int | None:
        """How many collectives came before the first execution of a place; None if it was not executed."""
        each = self.statement(file, line, column)
        return self.before.get(Ran(file, each.number)) if each else None


def read(folder: str, rank: int, files: Sequence[MarkedFile], *, is_sure: bool = True) -> Executed:
    """Read the records of one rank and its forks."""
    found = Executed({each.file: each for each in files}, is_sure=is_sure)
    if not files:
        return found
    names = {each.first + index: Ran(each.file, index) for each in files for index in range(each.count)}
    for each in executing.kept(folder, rank):
        kept = _Kept(each, max(names) + 1)
        for number, name in names.items():
            if kept.counts[number]:
                found.counts[name] = found.counts.get(name, 0) + kept.counts[number]
                found.before[name] = min(found.before.get(name, kept.firsts[number]), kept.firsts[number])
        if each == executing.kept_path(folder, rank):
            found.events = [event for number in kept.last if (event := _event(number, names))]
            found.is_whole = kept.is_whole
    return found


def _event(number: int, names: dict[int, Ran]) -> Event | None:
    if number == SYNCHRONISES:
        return Called(None)
    return Called(number - COLLECTIVE) if number >= COLLECTIVE else names.get(number)


class _Kept:
    """One file of numbers. `counts` and `firsts` include the ring, up to the last statement that is needed."""

    def __init__(self, path: Path, end: int) -> None:
        with path.open("rb") as file:
            counts, firsts = (_numbers(file, place, end) for place in (0, MOST_STATEMENTS))
            before, last = (_numbers(file, place, RING) for place in (2 * MOST_STATEMENTS, 2 * MOST_STATEMENTS + RING))
        times = counts[0]
        calls = max((each - COLLECTIVE + 1 for each in before if COLLECTIVE <= each < SYNCHRONISES), default=0)
        filled = last[: last.tolist().index(0)] if 0 in last.tolist() else last
        executing.tally(filled, counts, firsts, calls)
        self.counts = counts.tolist()
        self.firsts = [each - 1 for each in firsts.tolist()]
        self.last = [each for each in (*before, *filled) if each]
        self.is_whole = times < 2


def _numbers(file: BinaryIO, place: int, count: int) -> memoryview[int]:
    file.seek(place * SIZE)
    return memoryview(bytearray(file.read(count * SIZE).ljust(count * SIZE, b"\0"))).cast("I")
