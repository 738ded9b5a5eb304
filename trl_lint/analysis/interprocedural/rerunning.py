"""An analysis that is kept, and taken up again after the body of one function has changed.

    def f(x):
        y = g(x)           the text before
        return y

    def f(x):
        y = g(x)
        prin               a name is being typed: `f` is run anew, for all calls of it that were run before
        return y

If it leaves to others what it left before (what it returns, what it does to its arguments and to objects, where ranks
meet in it, whom it calls with what), nothing else can have changed, and what it tells of itself is all that is new.
Otherwise the analysis has to be begun afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import libcst as cst

from trl_lint.analysis.events import Event, EventTrace
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.interprocedural.summaries import Summary
from trl_lint.analysis.program.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.likeness import same
from trl_lint.analysis.program.project import Module
from trl_lint.analysis.program.reparsing import Retyped
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.heap import Memory

# What others look at of the run of a function, besides what it does to objects.
_LEFT = ("result", "inputs", "final", "exchanged", "sync_points", "attribute_writes", "cell_writes", "pending_used")
# The same of what it tells.
_TOLD = ("synchronises", "shows", "backward", "notes")
# What of a trace is of the walk itself: the rest is for those to say who entered it.
_WALKED = ("events", "calls", "stepping")


class Interrupted(BaseException):
    """Nobody waits any more for what is analysed."""


class _Asked(NamedTuple):
    """How a function was run, and the frame in which it was."""

    names: dict[str, Any]
    inputs: list[Any]
    cls: ClassInfo | None
    caller: Memory
    met: tuple[Any, ...]
    depth: int
    frame: Frame


class RerunEngine(Engine):
    """An engine that keeps how each function was run, so that it can be run again."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._asked_of: dict[FunctionInfo, dict[tuple[Hashable, ...], _Asked]] = {}
        self._frames: list[Frame] = []
        self._entries: dict[Module, list[EventTrace]] = {}
        self._runs = 0
        # Nodes are told apart by their ids, which must not be given to others.
        self._kept: list[Retyped] = []
        # Asked before each run of a function.
        self.is_interrupted: Callable[[], bool] = bool

    def _run(
        self,
        function: FunctionInfo,
        key: tuple[Hashable, ...],
        names: dict[str, Any],
        inputs: list[Any],
        cls: ClassInfo | None,
        caller: Memory,
    ) -> Summary:
        if self.is_interrupted():
            raise Interrupted
        self._runs += 1
        given = Memory(dict(names), dict(caller.heap), caller.attributes, caller.control)
        met, depth = self.met, self.depth
        summary = super()._run(function, key, names, inputs, cls, caller)
        asked = _Asked(dict(names), list(inputs), cls, given, met, depth, self._frames.pop())
        self._asked_of.setdefault(function, {})[key] = asked
        return summary

    def _frame(self, *given: Any) -> Frame:
        frame = super()._frame(*given)
        self._frames.append(frame)
        return frame

    def _events(self, module: Module, roots: list[EventTrace]) -> list[Event]:
        self._entries[module] = roots
        return super()._events(module, roots)

    def analyse_again(self, module: Module, change: Retyped) -> list[Event] | None:
        """All events of a module that was analysed before the body of a function changed; None where that won't do.

        Raises:
            RecursionError: it is nested more deeply than can be followed.
        """
        changed = [each for each in self._asked_of if each.node is change.function]
        if len(changed) != 1 or module not in self._entries or change.function in self._seen_by_name(module):
            return None
        (function,) = changed
        self._exchange(function, change)
        reached = self._count_reached()
        for key, asked in list(self._asked_of[function].items()):
            if not self._leaves_the_same(function, key, asked):
                return None
        if self._entered or self._count_reached() != reached:
            return None
        return super()._events(module, self._entries[module])

    @staticmethod
    def _seen_by_name(module: Module) -> tuple[cst.FunctionDef, ...]:
        """Functions that the body of the module has run, which is not run again."""
        called = {function for _, function in module.trace.calls}
        return tuple(
            each.node for each in module.functions if id(each) in called and isinstance(each.node, cst.FunctionDef)
        )

    def _count_reached(self) -> int:
        methods = (method for cls in set(self._classes.values()) for method in cls.methods.values())
        return sum(function.reached for function in (*self._functions.values(), *methods))

    def _exchange(self, function: FunctionInfo, change: Retyped) -> None:
        """Have what is known of the old nodes stand for the new ones."""
        self._kept.append(change)
        for cls in set(self._classes.values()):
            node = change.instead.get(id(cls.node))
            if isinstance(node, cst.ClassDef):
                cls.node = node
                self._classes[id(node)] = cls
                cls._assigned = cls._always_made = None
            for left in cls._left.values():
                for writer in list(left):
                    if isinstance(writer, tuple) and writer[0] == id(function.node):
                        left[(id(change.new), *writer[1:])] = left.pop(writer)
        if self._functions.get(id(function.node)) is function:
            self._functions[id(change.new)] = self._functions.pop(id(function.node))
        function.node = change.new
        function.summaries = {(id(change.new), *key[1:]): each for key, each in function.summaries.items()}
        self._asked_of[function] = {(id(change.new), *key[1:]): each for key, each in self._asked_of[function].items()}

    def _leaves_the_same(self, function: FunctionInfo, key: tuple[Hashable, ...], asked: _Asked) -> bool:
        """Run a function again; whether all that others can see of it is as it was. If so, it counts from now on."""
        known = function.summaries.get(key)
        if known is None:
            return True  # calls like it were joined with others since
        ran, self.met, self.depth = self._runs, asked.met, asked.depth
        versions = [dict(cls._versions) for cls in set(self._classes.values())]
        try:
            new = self._run(function, key, asked.names, asked.inputs, asked.cls, asked.caller)
        finally:
            self.met, self.depth = (), 0
        if self._runs != ran + 1 or versions != [dict(cls._versions) for cls in set(self._classes.values())]:
            return False  # others had to be run, or are to be now
        if not _left_alike(known, new) or not _objects_alike(known, asked.frame, self._asked_of[function][key].frame):
            return False
        for name in _WALKED:
            setattr(known.trace, name, getattr(new.trace, name))
        known.dependencies, known.names, known.allocations = new.dependencies, new.names, new.allocations
        known.argument_sources = new.argument_sources
        function.summaries[key] = known
        return True


def _left_alike(one: Summary, other: Summary) -> bool:
    called = ({callee for _, callee in each.trace.calls} for each in (one, other))
    if next(called) != next(called):
        return False
    left = all(same(getattr(one, name), getattr(other, name)) for name in _LEFT)
    return left and all(same(getattr(one.trace, name), getattr(other.trace, name)) for name in _TOLD)


def _objects_alike(summary: Summary, one: Frame, other: Frame) -> bool:
    """Whether two runs that write the same attributes and containers of objects leave the same in them."""
    attributes, heaps = (one.memory.attributes, other.memory.attributes), (one.memory.heap, other.memory.heap)
    return all(same(attributes[0].get(key), attributes[1].get(key)) for key in summary.attribute_writes) and all(
        same(heaps[0].get(identity), heaps[1].get(identity)) for identity in summary.cell_writes
    )
