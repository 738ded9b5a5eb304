"""What launches, settings and code say of the batches: `--dataloader_drop_last`, `gradient_accumulation_steps: 4`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trl_lint.knowledge.engines import (
    ACCUMULATES,
    ACCUMULATES_IN_CODE,
    ACCUMULATES_IN_SETTINGS,
    DROPS_LAST,
    DROPS_LAST_IN_CODE,
    DROPS_LAST_IN_SETTINGS,
)
from trl_lint.launch.commands.commands import Word
from trl_lint.launch.judge.gpus import options

_TRUE = frozenset({"", "1", "on", "true", "yes"})


class Batching(NamedTuple):
    """Whether an incomplete last batch is dropped, and whether gradients are accumulated over several batches."""

    drops_last: bool = False
    accumulates: bool = False

    def beside(self, others: Iterable[Batching]) -> Batching:
        """What they say together."""
        said = (self, *others)
        return Batching(any(each.drops_last for each in said), any(each.accumulates for each in said))


UNSAID = Batching()


def batching_of_options(words: Sequence[Word]) -> Batching:
    """What the options of a program say."""
    passed = [(name.lstrip("-").replace("-", "_"), value) for name, value, _ in options(words)]
    return Batching(
        any(name == DROPS_LAST and value.lower() in _TRUE for name, value in passed),
        any(name == ACCUMULATES and value.isdigit() and int(value) > 1 for name, value in passed),
    )


def batching_of_settings(data: bytes) -> Batching:
    """What a file with settings says."""
    return Batching(DROPS_LAST_IN_SETTINGS.search(data) is not None, ACCUMULATES_IN_SETTINGS.search(data) is not None)


def batching_of_code(data: bytes) -> Batching:
    """What Python code says."""
    return Batching(
        DROPS_LAST.encode() in data and DROPS_LAST_IN_CODE.search(data) is not None,
        ACCUMULATES.encode() in data and ACCUMULATES_IN_CODE.search(data) is not None,
    )
