"""Side effects: calls that change what all ranks share, told to the rules where every rank is known to make them."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from trl_lint.analysis.arguments import Arguments
from trl_lint.analysis.events import SideEffect
from trl_lint.analysis.facts import State
from trl_lint.analysis.frame import Frame
from trl_lint.analysis.values import Kind, Value
from trl_lint.knowledge.effects import FUNCTIONS, METHODS, OF_MODELS, PROGRAMS, WRITES, Effect

# Conditions that say that a tracker is there, not on which rank one is.
_WEAK = re.compile(r"^(not )?(wandb\.run( is not None)?|(is|has)_\w+(_available)?\(\)|\w*\.?is_\w+_available\(\))$")


def called(frame: Frame, name: str, args: Arguments, node: Any) -> None:
    """A function of a library is called."""
    if name in PROGRAMS:
        frame.trace.launched = True
    effect = FUNCTIONS.get(name)
    if effect is not None:
        _tell(frame, effect, name, args, node)


def method(frame: Frame, owner: Value, name: str, args: Arguments, node: Any) -> None:
    """A method is called: of a model that is not wrapped, or one whose name says what it is of."""
    is_bare = owner.kind is Kind.MODEL and owner.wrapping is not None and owner.wrapping.is_bare
    effect = OF_MODELS.get(name) if is_bare else METHODS.get(name)
    if effect is not None and owner.kind is not Kind.INSTANCE:
        _tell(frame, effect, name, args, node)


def opened(frame: Frame, args: Arguments, node: Any) -> None:
    """A file is opened."""
    mode = args.get(1, "mode")
    if mode is not None and isinstance(mode.const, str) and mode.const.startswith(WRITES):
        _tell(frame, Effect("writes the same file", (0, "file")), "open", args, node)


def _tell(frame: Frame, effect: Effect, name: str, args: Arguments, node: Any) -> None:
    if not _is_everywhere(frame) or any(keyword in args.keywords for keyword in effect.unless):
        return
    if effect.path is not None:
        path = args.get(*effect.path)
        if path is None or path.rank.state is not State.SAME or path.kind is Kind.NONE:
            return
    if args.double is not None:
        return
    own = name.removeprefix("trl.trainer.utils.")
    frame.emit(SideEffect, node, name=own, effect=effect, accelerator=frame.accelerator())


def _is_everywhere(frame: Frame) -> bool:
    """Whether all ranks get here, but for what asks for a tracker only."""
    control = frame.memory.control
    return not control.level or all(_is_weak(frame, each) for each in control.conditions)


def _is_weak(frame: Frame, condition: Any) -> bool:
    why = condition.why
    if condition.level != 1 or why is None:
        return False
    return _lets_all_in(frame, why.module, why.node)


def _lets_all_in(frame: Frame, module: Any, test: Any) -> bool:
    """Whether a test asks for a tracker; of several that must all hold, the others may be the same on all ranks."""
    if _WEAK.match(module.tree.code_for_node(test)) or _asks_for_a_run(frame, test):
        return True
    if not (isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And)):
        return False
    parts = (test.left, test.right)
    return all(_is_same(frame, part) or _lets_all_in(frame, module, part) for part in parts)


def _asks_for_a_run(frame: Frame, test: Any) -> bool:
    """`wandb.run is not None`, whatever wandb and its run are called here.

    A run that is handed over says more: who calls may have given None to all but one rank.
    """
    if isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, (cst.Is, cst.IsNot)):
        test = test.left
    given = () if frame.function is None else [parameter.name for parameter in frame.function.parameters]
    if isinstance(test, cst.Name) and test.value in given:
        return False
    value = frame.seen.get(id(test))
    return value is not None and value.kind is Kind.INSTANCE and value.data == "wandb.Run"


def _is_same(frame: Frame, node: Any) -> bool:
    value = frame.seen.get(id(node))
    return value is not None and value.rank.state is State.SAME
