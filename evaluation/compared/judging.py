"""What a tool's output says about a program: judged by its text, in the same way for all tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.compared.cases import Case

_PREFIX = re.compile(r"\[rank(\d+)\]:")
_RANKS = re.compile(r"\branks?\s*:?\s*(\d+(?:, \d+)*)\b", re.IGNORECASE)
# Words which say that the ranks diverge: that they run different collectives, or that a rank is missing from one.
_APART = re.compile(
    r"mismatch|diverge|Not all ranks joining|failed to pass monitoredBarrier|not all ranks reach|ended while others"
    r"|only ranks where|ranks where .* do not reach",
    re.IGNORECASE,
)
# Lines that are always printed, and say nothing about the program.
_NOTICES = re.compile(r"tabulate is not installed|OMP_NUM_THREADS|^\*+$|^W\d{4} ")


@dataclass(frozen=True, slots=True)
class Said:
    """The output of a command, on both its streams, and its exit status (None: it was stopped at the limit)."""

    output: str
    status: int | None


@dataclass(frozen=True, slots=True)
class Told:
    """What an output says of a program.

    Attributes:
        ends: Whether the command ended by itself.
        fails: Whether the output says that something is wrong.
        cause: Whether it names the line to fix.
        ranks: The ranks of which it names the line where they fail or wait.
        lines: Whether it names such a line, without a rank.
        apart: Whether it says that the ranks run different collectives, not only that a connection was lost or the time
            is up.
        named: How many lines of the program it names at all.
    """

    ends: bool
    fails: bool
    cause: bool
    ranks: tuple[int, ...]
    lines: bool
    apart: bool
    named: int


def judge(case: Case, said: Said) -> Told:
    """Judge what an output says about a program."""
    named = [(ranks, line) for ranks, text in pieces(said.output) for line in lines_of(case, text)]
    ranks = tuple(rank for rank, line in case.shows.items() if any(rank in who and line == at for who, at in named))
    found = {line for _, line in named}
    return Told(
        ends=said.status is not None,
        fails=bool(said.status or found),
        cause=case.cause in found,
        ranks=ranks,
        lines=bool(found & set(case.shows.values())),
        apart=_APART.search(said.output) is not None,
        named=len(found),
    )


def lines_of(case: Case, text: str) -> Iterator[int]:
    """The line numbers of a program that a text names, in the form of tracebacks and reports."""
    for found in re.finditer(rf"\b{case.name}\.py(?::|\", line )(\d+)\b", text):
        yield int(found[1])


def pieces(output: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """The pieces of an output, each with its ranks: those of the prefix, or those named last on the same line."""
    for line in output.replace("\\", "").splitlines():
        prefix = _PREFIX.match(line)
        ranks: tuple[int, ...] = (int(prefix[1]),) if prefix else ()
        for piece in line.split("<br>"):
            found = None if prefix else _RANKS.search(piece)
            ranks = tuple(map(int, found[1].split(", "))) if found else ranks
            yield ranks, piece


def spoken(output: str) -> str:
    """An output without the lines that are always printed."""
    return "\n".join(line for line in output.splitlines() if line.strip() and not _NOTICES.search(line))
