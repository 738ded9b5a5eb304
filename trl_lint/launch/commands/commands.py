"""What a front end finds: commands, made of words, and what their surroundings say.

All offsets are indices into the text of the file, as decoded with its line ends kept; never bytes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Unreadable(Exception):
    """A file, or a part of one, that no commands can be read from; the message says why in one line."""


class TooMuch(Unreadable):
    """A file that would take more work than any that was written to be run: what is left of it is not looked at."""


# How much is done for one file. A word of a command is a step, and so is a variable that a command is given.
MOST_STEPS = 500_000
# How many steps a command takes besides, and how many characters to parse, or variables to copy, count for one.
STEPS_OF_COMMAND = 10
CHARACTERS = 20
COPIES = 10


@dataclass(slots=True)
class Work:
    """What may still be done for one file."""

    left: int = field(default_factory=lambda: MOST_STEPS)

    def spend(self, steps: int, what: str) -> None:
        """Take note of work that is about to be done, for the sake of `what`, in the plural.

        Raises:
            TooMuch: it is more than is left.
        """
        self.left -= steps
        if self.left < 0:
            raise TooMuch(f"its {what} are more than can be kept track of")


class Form(str, Enum):
    """How the words of a command are written, and so how one of them becomes two."""

    SHELL = "shell"
    LINE = "line"  # as in a shell, but split by something else: no assignments, no operators
    JSON = "json"  # ["python", "train.py"] in a Dockerfile
    PYTHON = "python"  # a list or tuple in Python code
    YAML_FLOW = "yaml flow"  # [python, train.py]
    YAML_BLOCK = "yaml block"  # one `- word` per line


@dataclass(frozen=True, slots=True)
class Word:
    """One argument of a command.

    value: the text that the program gets, or None where it can't be known. raw: how it is written. exact: the
    file has `raw` from `start` to `end`, so that it may be edited; else the span is only the place to point at.
    tail: what is known of its end; of `$ROOT/train.py` that is `/train.py`, of a known word all of it.
    """

    value: str | None
    start: int
    end: int
    raw: str
    exact: bool = True
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value` in front of a command; the value is None where it can't be known.

    written_out: whether the value stands there itself, and is not that of a variable or what a command says.
    """

    name: str
    value: str | None
    start: int
    end: int
    written_out: bool = True


@dataclass(frozen=True, slots=True)
class Hint:
    """Something the surroundings say that is no environment variable. `gpus.HINTS` has the kinds."""

    kind: str
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandContext:
    """Where a command stands and what holds there.

    kind: the kind of file, or of the part of one. environment: what is exported to the command, None where a
    variable is set to an unknown value. around: the words that this command is handed to, outermost first
    (`docker run --gpus all image bash -c` for the command in the string behind it). work: what may still be done for
    the file; all that is read of it shares this.
    """

    kind: str
    environment: Mapping[str, str | None] = field(default_factory=dict)
    hints: tuple[Hint, ...] = ()
    around: tuple[tuple[Word, ...], ...] = ()
    work: Work = field(default_factory=Work, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Command:
    """One command. exact: the file has its text one to one from `start` to `end`."""

    words: tuple[Word, ...]
    surroundings: CommandContext
    start: int
    end: int
    assignments: tuple[Assignment, ...] = ()
    exact: bool = True
    form: Form = Form.SHELL

    @property
    def environment(self) -> Mapping[str, str | None]:
        """What the command finds in its environment, as far as the file says."""
        return laid_over(self.surroundings.environment, {each.name: each.value for each in self.assignments})


def laid_over(below: Mapping[str, str | None], above: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """An environment with more variables set in it. Many commands share one, so it is not copied."""
    # It writes to the first of its mappings alone, whatever its type says of the others.
    return ChainMap(dict(above), below) if above else below  # type: ignore[arg-type]


Commands = Iterator[Command]
