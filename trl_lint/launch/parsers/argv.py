"""Commands written as lists of strings: `["python", "train.py"]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trl_lint.launch.commands.command_wrappers import unwrap
from trl_lint.launch.commands.commands import (
    STEPS_OF_COMMAND,
    Assignment,
    Command,
    CommandContext,
    Commands,
    Form,
    Word,
)
from trl_lint.launch.commands.source_map import Passage
from trl_lint.launch.parsers import shell


@dataclass(frozen=True, slots=True)
class Item:
    """A word of a list, and its text as a passage, if that can be aligned."""

    word: Word
    inner: Passage | None


def read(
    items: Sequence[Item], surroundings: CommandContext, form: Form, assignments: tuple[Assignment, ...] = ()
) -> Commands:
    """The command that these words are, and those in a string that it passes to a shell."""
    if not items:
        return
    words = tuple(each.word for each in items)
    surroundings.work.spend(STEPS_OF_COMMAND + len(items), "words")
    start, end = min(each.start for each in words), max(each.end for each in words)
    yield Command(words, surroundings, start, end, assignments, all(each.exact for each in words), form)
    found = unwrap(words)
    if found.script is None:
        return
    inner, option = items[found.script].inner, "--wrap="
    if inner is not None and inner.text.startswith(option):
        inner = inner.part(len(option), len(inner.text))
    if inner is not None:
        inherited = surroundings.environment if all(each.prefix.environment for each in found.wrappers) else {}
        environment = {**inherited, **found.environment}
        around = (*surroundings.around, words[: found.script])
        yield from shell.read(inner, replace(surroundings, environment=environment, around=around))
