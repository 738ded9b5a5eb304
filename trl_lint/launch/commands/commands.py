"""What a front end finds: commands, consisting of words, and what their context says.

All offsets are indices into the text of the file, decoded with its line ends kept; never bytes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Unreadable(Exception):
    """A file, or a part of one, from which no commands can be read; the message says why in one line."""


class TooMuch(Unreadable):
    """A file that would take more work than any file written by a person: the rest of it is not searched."""


# The most steps for one file. A word of a command is a step, and so is a variable in its environment.
MOST_STEPS = 500_000
# How many more steps a command takes, and how many parsed characters or copied variables count as one.
STEPS_OF_COMMAND = 10
CHARACTERS = 20
COPIES = 10


@dataclass(slots=True)
class Work:
    """The steps that are left for one file."""

    left: int = field(default_factory=lambda: MOST_STEPS)

    def spend(self, steps: int, what: str) -> None:
        """Count work that is about to be done; `what` is its subject, in the plural.

        Raises:
            TooMuch: it is more than is left.
        """
        self.left -= steps
        if self.left < 0:
            raise TooMuch(f"its {what} are more than can be kept track of")


class Form(str, Enum):
    """How the words of a command are written, which determines how one of them becomes two."""

    SHELL = "shell"
    LINE = "line"  # as in a shell, but split by something else: no assignments, no operators
    JSON = "json"  # ["python", "train.py"] in a Dockerfile
    PYTHON = "python"  # a list or tuple in Python code
    YAML_FLOW = "yaml flow"  # [python, train.py]
    YAML_BLOCK = "yaml block"  # one `- word` per line


@dataclass(frozen=True, slots=True)
class Word:
    """One argument of a command.

    Attributes:
        value: The text passed to the program, or None if unknown.
        raw: How it is written.
        exact: Whether the file has `raw` from `start` to `end`, so that it may be edited; otherwise the span is only
            the place to report.
        tail: Its known end: `/train.py` for `$ROOT/train.py`, the whole value of a known word.
    """

    value: str | None
    start: int
    end: int
    raw: str
    exact: bool = True
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value` in front of a command; the value is None if unknown.

    written_out: whether the value is a literal, not that of a variable or the output of a command.
    """

    name: str
    value: str | None
    start: int
    end: int
    written_out: bool = True


class HintKind(Enum):
    """What a hint is; see the comments for its value."""

    SLURM = "slurm"  # one option of an `#SBATCH` line, `--gres=gpu:4`
    GPUS = "gpus"  # a number of GPUs, `all`, or `?`: compose, Kubernetes, SkyPilot, Docker
    HOST = "host"  # the machine that a CI job runs on
    NOTE = "note"  # a comment, heading or paragraph: what a writer says of it
    HEAD = "head"  # the comments at the top of a script: what a writer says of all of it
    CHOICE = "choice"  # the condition that it depends on
    FOLDER = "folder"  # where it is run, by the `cd` in front of it


@dataclass(frozen=True, slots=True)
class Hint:
    """Something in the context that is no environment variable."""

    kind: HintKind
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandContext:
    """Where a command is written, and what holds there.

    Attributes:
        kind: The kind of file, or of the part of one.
        environment: What is exported to the command, None for a variable with an unknown value.
        around: The words to which this command is passed, outermost first (`docker run --gpus all image bash -c` for
            the command in the string after it).
        work: The steps that are left for the file, shared by everything read from it.
    """

    kind: str
    environment: Mapping[str, str | None] = field(default_factory=dict)
    hints: tuple[Hint, ...] = ()
    around: tuple[tuple[Word, ...], ...] = ()
    work: Work = field(default_factory=Work, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Command:
    """One command. exact: whether the file has its text one to one from `start` to `end`."""

    words: tuple[Word, ...]
    surroundings: CommandContext
    start: int
    end: int
    assignments: tuple[Assignment, ...] = ()
    exact: bool = True
    form: Form = Form.SHELL

    @property
    def environment(self) -> Mapping[str, str | None]:
        """The environment of the command, as far as the file says."""
        return laid_over(self.surroundings.environment, {each.name: each.value for each in self.assignments})


def laid_over(below: Mapping[str, str | None], above: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """An environment with more variables set in it. Many commands share one, so it is not copied."""
    # ChainMap only writes to its first mapping, though its type requires all of them to be mutable.
    return ChainMap(dict(above), below) if above else below  # type: ignore[arg-type]


Commands = Iterator[Command]
