"""Gradients that are clipped by the norm of the parts that a rank holds of them.

Events of a program with `model = FSDP(net)`:

    clip_grad_norm_(model.parameters(), 1.0)          ShardsClipped
    trained = [p for p in model.parameters() if p.requires_grad]
    clip_grad_norm_(trained, 1.0)                     ShardsClipped, with whole=False
    clip_grad_value_(model.parameters(), 1.0)         none: it needs no norm
    model.clip_grad_norm_(1.0)                        none: the wrapper adds up the norms of all ranks
    if isinstance(model, FSDP):
        model.clip_grad_norm_(1.0)
    else:
        clip_grad_norm_(model.parameters(), 1.0)      none: it is for other wrappers
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.gradient_events import ShardsClipped
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.syntax import ancestors, assigned_once, exits_before, identifiers, names_in, of_class
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.model_roles import is_sharded
from trl_lint.domain.values import UNKNOWN
from trl_lint.knowledge.heuristics import NAMES_ENGINE
from trl_lint.knowledge.torch import CLIPPED, CLIPS_BY_NORM, GIVES_PARAMETERS, OWN_CLIP

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

# Functions that pass on what their last argument yields, or a part of it.
_PASS_ON = frozenset({"filter", "iter", "list", "tuple"})
# Functions that ask what a model is, or has.
_ASK = frozenset({"hasattr", "isinstance", "issubclass", "type"})


class Parameters(NamedTuple):
    """The parameters of the model that an expression (`owner`) gives: the whole of them, or some."""

    owner: cst.BaseExpression
    whole: bool = True


class ShardedNorms(Observer["Frame"]):
    emits = frozenset({ShardsClipped})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name not in CLIPS_BY_NORM or not isinstance(node, cst.Call) or is_test(frame.function):
            return
        passed = args.node(*CLIPPED)
        found = None if passed is None else _parameters(frame, passed.value)
        if found is None or frame.memory.control.parameters_gathered:
            return
        model = frame.node_values.get(id(found.owner), UNKNOWN)
        if is_sharded(model) and not _is_for_others(frame, node, found.owner):
            frame.emit(ShardsClipped, node, model=model, owner=found.owner, whole=found.whole)


def _parameters(frame: Frame, node: cst.BaseExpression, depth: int = 4) -> Parameters | None:
    """The model whose parameters an expression yields, as far as this function says it."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in GIVES_PARAMETERS:
            return Parameters(owner)
        case cst.Call(func=cst.Name(name), args=[*_, last]) if name in _PASS_ON and depth:
            found = _parameters(frame, last.value, depth - 1)
            return found if found is None or name != "filter" else Parameters(found.owner, whole=False)
        case cst.ListComp(for_in=loop) | cst.GeneratorExp(for_in=loop) if depth and loop.inner_for_in is None:
            found = _parameters(frame, loop.iter, depth - 1)
            return None if found is None else Parameters(found.owner, found.whole and not loop.ifs)
        case cst.Name(name) if depth and (value := assigned_once(frame.root, name)) is not None:
            return _parameters(frame, value, depth - 1)
    return None


def _is_for_others(frame: Frame, node: cst.Call, owner: cst.BaseExpression) -> bool:
    """Whether a call may be for models that FSDP does not wrap: the function has one of the wrapper's own method too,
    or asks what wraps the model.
    """
    names = names_in(owner) - {"self"}
    calls = of_class(frame.root, cst.Call)
    if any(_is_own_clip(each, names) for each in calls) or _names_own_clip(frame.root):
        return True
    tests = [each.test for each in ancestors(frame.root, node) if isinstance(each, (cst.If, cst.IfExp))]
    tests += [each.test for each in exits_before(frame.root, node)]
    return any(_asks_for_wrapper(each) for each in tests)


def _is_own_clip(call: cst.Call, names: set[str]) -> bool:
    """Whether a call is that of a method of the model: `model.clip_grad_norm_(1.0)`."""
    function = call.func
    is_method = isinstance(function, cst.Attribute) and function.attr.value == OWN_CLIP
    return is_method and isinstance(function, cst.Attribute) and not names.isdisjoint(names_in(function.value))


def _names_own_clip(root: cst.CSTNode) -> bool:
    """Whether a function asks for the method by its name: `getattr(model, "clip_grad_norm_", None)`."""
    return any(OWN_CLIP in each.value for each in of_class(root, cst.SimpleString))


def _asks_for_wrapper(test: cst.BaseExpression) -> bool:
    return any(NAMES_ENGINE.fits(each) or each in _ASK for each in identifiers(test))


OBSERVER = ShardedNorms()
