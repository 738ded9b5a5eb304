"""What the tool reports: a finding, the places that explain it, and its fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

# Where the documentation is published, with a final `/`; None while it is not.
DOCS_URL: str | None = None


class Applicability(str, Enum):
    """How safe it is to apply a fix, in ruff's terms.

    SAFE fixes are applied by `--fix`; UNSAFE ones only with `--unsafe-fixes`; DISPLAY ones are hints that are shown and
    never applied.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


class Severity(str, Enum):
    """How serious a finding is, in the terms of editors and code review services."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Consequence(str, Enum):
    """The effect of a finding on several processes, from the worst to the least serious."""

    CRASH = "crash"
    DEADLOCK = "deadlock"
    WRONG_TRAINING = "wrong-training"
    WRONG_NUMBER = "wrong-number"
    RACE = "race"
    WASTE = "waste"
    STALE = "stale"

    @property
    def meaning(self) -> str:
        """A description for users."""
        return _MEANINGS[self]

    @property
    def severity(self) -> Severity:
        """The severity, for tools that have only three levels."""
        return _SEVERITIES[self]

    @property
    def harm(self) -> int:
        """The greater, the worse."""
        return -list(Consequence).index(self)


_MEANINGS = {
    Consequence.CRASH: "the run ends with an error",
    Consequence.DEADLOCK: "ranks wait for each other until the time-out",
    Consequence.WRONG_TRAINING: "the run succeeds, but does not train what the code says",
    Consequence.WRONG_NUMBER: "a logged or printed metric does not cover all ranks",
    Consequence.RACE: "the contents of a file depend on which rank wrote last, or are mixed",
    Consequence.WASTE: "the result is correct, but ranks repeat work or are idle",
    Consequence.STALE: "nothing at run time: a comment does not silence what it names",
}
_SEVERITIES = {
    Consequence.CRASH: Severity.ERROR,
    Consequence.DEADLOCK: Severity.ERROR,
    Consequence.WRONG_TRAINING: Severity.ERROR,
    Consequence.WRONG_NUMBER: Severity.WARNING,
    Consequence.RACE: Severity.WARNING,
    Consequence.WASTE: Severity.NOTE,
    Consequence.STALE: Severity.WARNING,
}


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file. `line` and `column` both count from 1, as ruff and editors print them.

    cell: in a notebook, the cell that they are relative to, counted from 1 among all cells; 0 in other files.
    """

    cell: int = field(default=0, kw_only=True)
    line: int
    column: int

    @property
    def row(self) -> str:
        """The line as users read it: `4`, or `cell 3:4`."""
        return f"cell {self.cell}:{self.line}" if self.cell else str(self.line)

    def __str__(self) -> str:
        return f"{self.row}:{self.column}"


class Note(NamedTuple):
    """One step of the chain that explains a finding: what happens there, and where.

    hands_on: whether the step is only a function that returns the value to its caller.
    """

    text: str
    path: str
    start: Position
    hands_on: bool = False


class Guard(NamedTuple):
    """What keeps some ranks away: the text of its step in the chain, and its start and end.

    meaning: its effect on the place of the finding, in a few words.
    """

    text: str
    path: str
    start: Position
    end: Position
    meaning: str


class Related(NamedTuple):
    """Another place with the same cause, which is merged into a finding, and the code of the rule that found it."""

    code: str
    message: str
    path: str
    start: Position


class Edit(NamedTuple):
    """Replace the text from `start` up to `end` by `content`."""

    start: Position
    end: Position
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A rewrite. `edits` computes its edits on demand, because only some reports and `--fix` need them."""

    applicability: Applicability
    title: str
    edits: Callable[[], tuple[Edit, ...]] = field(compare=False, repr=False, default=tuple)
    # Why the fix is not safe, or why there is only a hint; empty for a safe fix. conditions: the places that make it
    # so.
    reason: str = ""
    conditions: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One bug at one place.

    Attributes:
        message: One line: what is wrong, and on which launch it shows.
        because: The chain from the source of the fact to the place of the finding.
        help: How to fix it.
        consequence: What it leads to.
        by_default: Whether it is in the default set of findings; others have to be selected.
        also: The other places of the same cause.
        branches: Where some ranks branch off to the statement by which they leave, if that is the place of the finding.
        guard: What keeps ranks away from a call that all of them have to make. It is also a step of `because`.
    """

    code: str
    name: str
    message: str
    path: str
    start: Position
    end: Position
    because: tuple[Note, ...] = ()
    help: str = ""
    fix: Fix | None = None
    consequence: Consequence = Consequence.CRASH
    by_default: bool = True
    also: tuple[Related, ...] = ()
    branches: tuple[Position, ...] = ()
    guard: Guard | None = None

    @property
    def severity(self) -> Severity:
        return self.consequence.severity

    @property
    def advice(self) -> str:
        """What to write instead, or what the fix does; "" if neither is known."""
        return self.help or (self.fix.title if self.fix else "")

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines on which a comment silences it, its own first.

        The condition under which ranks `return` is as good a place for such a comment as the `return`.
        """
        return (self.start.line, *(each.line for each in self.branches))

    @property
    def url(self) -> str | None:
        """The rule's page, if the documentation is published."""
        return f"{DOCS_URL}rules/{self.name}/" if DOCS_URL else None

    @property
    def headline(self) -> str:
        """The text after the code in all one-line formats."""
        places = sum(each.code == self.code for each in self.also)
        rules = sorted({each.code for each in self.also if each.code != self.code})
        more = [f"and {places} more place{'s' * (places > 1)}"] * bool(places) + [f"also {', '.join(rules)}"] * bool(
            rules
        )
        return f"[{self.consequence.value}] {self.name}: {self.message}" + f" ({'; '.join(more)})" * bool(more)

    @property
    def sort_key(self) -> tuple[str, Position, str]:
        return (self.path, self.start, self.code)
