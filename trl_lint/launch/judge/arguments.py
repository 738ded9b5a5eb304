"""Whether the arguments of a started script leave it to train."""

from __future__ import annotations

import re

from trl_lint.launch.judge.python_invocation import Start

# With these a script says something and ends.
_TALK = frozenset({"--help", "-h", "--version"})
# Of Transformers' own arguments (training_args.py, do_train), and of those that many a script has.
_TRAIN = re.compile(r"--?do[_-]train(?:=(.*))?\Z", re.DOTALL)
_ELSE = re.compile(
    r"--?(?:do[_-](?:eval|predict|test)|(?:eval(?:uate)?|test|predict|inference)[_-]only)(?:=(.*))?\Z", re.DOTALL
)
_FALSE = frozenset({"false", "0", "no"})


def may_train(start: Start) -> bool:
    """Whether the arguments leave it to train: some only ask for help, or for an evaluation."""
    if any(each.value in _TALK for each in start.arguments):
        return False
    train = _asked(start, _TRAIN)
    return train is not False if train is not None else not _asked(start, _ELSE)


def _asked(start: Start, option: re.Pattern[str]) -> bool | None:
    """What the last argument of this kind says, None where there is none."""
    said = None
    values = [each.value or "" for each in start.arguments]
    for place, value in enumerate(values):
        if match := option.match(value):
            given = match[1] if match[1] is not None else "".join(values[place + 1 : place + 2])
            said = given.lower() not in _FALSE
    return said
