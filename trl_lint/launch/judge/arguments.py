"""What the arguments of a started script say about training."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from trl_lint.knowledge.engines import SETTINGS_FILES
from trl_lint.knowledge.heuristics import NO_TRAIN_ARGUMENT, SETTINGS_OPTION, TRAIN_ARGUMENT, Guess
from trl_lint.launch.commands.commands import Word
from trl_lint.launch.judge.python_invocation import Start

# With these a script prints something and ends.
_HELP_OPTIONS = frozenset({"--help", "-h", "--version"})
# Placeholders for arguments that the reader is to fill in.
_OMITTED = frozenset({"...", "[...]", "\u2026"})
_FALSE = frozenset({"false", "0", "no"})
# What a settings file says about training, in JSON, YAML, TOML or lines of `name = value`.
_IN_SETTINGS = re.compile(r"""^[^#\n]*?\bdo_train\b["']?\s*[:=]\s*["']?(\w*|~)(?=["',\s}]|$)""", re.MULTILINE)
_NAMED_IN_SETTINGS = re.compile(r"^[^#\n]*\bdo_train\b", re.MULTILINE)
# Settings that are inherited from other files, which are not known here.
_INHERITS = re.compile(r"<<\s*:|^\s*(?:defaults|extends|base)\s*:", re.MULTILINE)
_UNSET = _FALSE | {"off", "null", "none", "~"}


def may_train(start: Start) -> bool:
    """Whether a start with these arguments may train: some only ask for help or for an evaluation, or are omitted."""
    if any(each.value in _HELP_OPTIONS or each.value in _OMITTED for each in start.arguments):
        return False
    train = _value_of(start, TRAIN_ARGUMENT)
    return train is not False if train is not None else not _value_of(start, NO_TRAIN_ARGUMENT)


def may_ask_to_train(start: Start, text_of: Callable[[str], str | None]) -> bool:
    """Whether the arguments, or settings or variables among them, may ask a script to train that waits for that.

    text_of: the text of a settings file, None if it is not available.
    """
    if leaves_open(start.arguments) or _value_of(start, TRAIN_ARGUMENT) is not None:
        return True
    texts = (text_of(word.value) if word.value is not None else None for word in _settings(start))
    return any(text is None or _asks_to_train(text) for text in texts)


def _asks_to_train(settings: str) -> bool:
    """Whether settings ask for training, or say something about it that can't be read here."""
    values = [match[1].lower() for match in _IN_SETTINGS.finditer(settings)]
    if len(values) < len(_NAMED_IN_SETTINGS.findall(settings)) or _INHERITS.search(settings):
        return True
    return any(each not in _UNSET for each in values)


def _settings(start: Start) -> Iterator[Word]:
    """The settings files among the arguments: each by itself, or after an option for one."""
    options = ("", *(each.value or each.raw for each in start.arguments))
    for last, word in zip(options, start.arguments, strict=False):
        is_file = word.tail.endswith(SETTINGS_FILES) and not word.raw.startswith("-")
        if is_file and (not last.startswith("-") or SETTINGS_OPTION.fits(last)):
            yield word


def leaves_open(words: Sequence[Word]) -> bool:
    """Whether unknown words may be options: `train.py $ARGUMENTS`, but not `train.py --output $FOLDER`."""
    before = ("", *(each.value or each.raw for each in words))
    return any(
        word.value is None and not word.tail and not word.raw.startswith("-") and not last.startswith("-")
        for last, word in zip(before, words, strict=False)
    )


def _value_of(start: Start, option: Guess) -> bool | None:
    """The value of the last argument of this kind, None if there is none."""
    result = None
    values = [each.value or "" for each in start.arguments]
    for place, value in enumerate(values):
        if groups := option.values(value):
            text = groups[0] if groups[0] is not None else "".join(values[place + 1 : place + 2])
            result = text.lower() not in _FALSE
    return result
