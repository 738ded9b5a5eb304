"""What a function returns for a call of itself while it runs: what it returns where it does not call itself.

For example:

    def move(value, device):
        if isinstance(value, dict):
            return {key: move(each, device) for key, each in value.items()}     holds what the line below returns
        return value.to(device)

If no such value is known yet, the function is run again once it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control
from trl_lint.domain.joins import join
from trl_lint.domain.ranks import State
from trl_lint.domain.values import BOTTOM, Kind, Value

# What may hold results of calls of the function itself.
_HOLDING = frozenset({Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE})


class BaseCases:
    """The results of functions that are running, without those that hold results of calls of themselves."""

    def __init__(self) -> None:
        self._known: dict[FunctionInfo, Value] = {}
        self._asked: set[FunctionInfo] = set()

    def result(self, caller: Frame, function: FunctionInfo) -> Value:
        """What a running function returns for a call of itself, as far as that is known; BOTTOM if nothing is."""
        found = self._known.get(function, BOTTOM)
        if caller.function is function:
            found = join(found, _base_case(caller))
        if found.rank.state is State.BOTTOM:
            self._asked.add(function)
        return found

    def run(
        self, function: FunctionInfo, make: Callable[[], Frame], run: Callable[[Frame], Value]
    ) -> tuple[Frame, Control, Value]:
        """Run a function in a frame, and again if a call of itself came too early.

        Returns:
            The frame, which ranks have entered it, and the result.
        """
        frame = make()
        entered, result = frame.memory.control, run(frame)
        if function in self._asked and function not in self._known:
            base = _base_case(frame)
            if base.rank.state is not State.BOTTOM:
                self._known[function] = base
                frame = make()
                entered, result = frame.memory.control, run(frame)
                del self._known[function]
            self._asked.discard(function)
        return frame, entered, result


def _base_case(frame: Frame) -> Value:
    return reduce(join, (value for value, _ in frame.returned if value.kind not in _HOLDING), BOTTOM)
