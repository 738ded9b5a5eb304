"""The commands that a script runs, each by its position."""

from __future__ import annotations

from dataclasses import replace

from trl_lint.launch.commands.commands import Command, Work


class FoundCommands:
    """A function's command is found once per call; where the calls differ, it is unknown."""

    def __init__(self, work: Work) -> None:
        self._work = work
        # By position; None if the calls have nothing in common.
        self._found: dict[tuple[int, int], Command | None] = {}

    def add(self, command: Command) -> None:
        key = (command.start, command.end)
        if key not in self._found:
            self._found[key] = command
        elif (known := self._found[key]) is not None:
            self._work.spend(len(known.words) + len(known.surroundings.environment), "calls of functions")
            self._found[key] = _merged(known, command)

    def known(self) -> list[Command]:
        return [each for each in self._found.values() if each is not None]


def _merged(one: Command, other: Command) -> Command | None:
    if [each.raw for each in one.words] != [each.raw for each in other.words]:
        return None
    words = tuple(
        mine if mine.value == yours.value else replace(mine, value=None, tail="")
        for mine, yours in zip(one.words, other.words, strict=True)
    )
    mine, yours = one.surroundings.environment, other.surroundings.environment
    names = mine.keys() | yours.keys()
    environment = {each: mine.get(each) if mine.get(each, ...) == yours.get(each, ...) else None for each in names}
    return replace(one, words=words, surroundings=replace(one.surroundings, environment=environment))
