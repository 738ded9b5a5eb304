"""Whether the arguments of a started script leave it to train."""

from __future__ import annotations

from trl_lint.knowledge.heuristics import NO_TRAIN_ARGUMENT, TRAIN_ARGUMENT, Guess
from trl_lint.launch.judge.python_invocation import Start

# With these a script says something and ends.
_TALK = frozenset({"--help", "-h", "--version"})
_FALSE = frozenset({"false", "0", "no"})


def may_train(start: Start) -> bool:
    """Whether the arguments leave it to train: some only ask for help, or for an evaluation."""
    if any(each.value in _TALK for each in start.arguments):
        return False
    train = _asked(start, TRAIN_ARGUMENT)
    return train is not False if train is not None else not _asked(start, NO_TRAIN_ARGUMENT)


def _asked(start: Start, option: Guess) -> bool | None:
    """What the last argument of this kind says, None where there is none."""
    said = None
    values = [each.value or "" for each in start.arguments]
    for place, value in enumerate(values):
        if groups := option.values(value):
            given = groups[0] if groups[0] is not None else "".join(values[place + 1 : place + 2])
            said = given.lower() not in _FALSE
    return said
