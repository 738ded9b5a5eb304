"""Functions that are registered with a library's object, which calls them in another of its methods.

accelerator.register_save_state_pre_hook(save_models)
if accelerator.is_main_process:
    accelerator.save_state(path)        save_models(models, weights, path) runs here, on the main process alone
"""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from trl_lint.analysis.program.objects import FunctionValue
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.heap import Cell
from trl_lint.domain.values import SAME, Value
from trl_lint.knowledge.schema import Function


class RegisteredHooks:
    """The functions that a run has registered, by the method that will call them."""

    def __init__(self) -> None:
        self.by_method: dict[str, list[tuple[FunctionValue, Function]]] = defaultdict(list)


def register(frame: Frame, row: Function, args: Arguments) -> None:
    """Keep what is registered here for those who call the method in this run."""
    hook = next(iter(args.all()), None)
    known = frame.notes.of(RegisteredHooks).by_method[row.registers]
    if isinstance(hook, FunctionValue) and all(each.function is not hook.function for each, _ in known):
        known.append((hook, row))


def run(frame: Frame, name: str, node: cst.CSTNode) -> None:
    """Call what was registered for a method."""
    scope: Frame | None = frame
    while scope is not None:
        for hook, row in scope.notes.of(RegisteredHooks).by_method.get(name, ()):
            frame.engine.call_value(frame, hook, _given(frame, node, row.lists), node)
        scope = scope.outer


def _given(frame: Frame, node: cst.CSTNode, elements: tuple[Value, ...]) -> Arguments:
    """Lists of what a hook is given, and the folder."""
    lists: list[Value] = [
        frame.allocate((node, "handed to a hook", index), Cell("list", rest=element, length=ranks.SAME))
        for index, element in enumerate(elements)
    ]
    return Arguments([*lists, SAME])
