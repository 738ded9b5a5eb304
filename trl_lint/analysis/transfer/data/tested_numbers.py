"""What a condition on data asks for, as far as the function around it does not show it.

outputs = model(x)
if outputs.max() > 9: …             what the wrapped model returns
if self.is_empty(mask): …           numbers, if that method returns `int(mask.sum()) == 0`
bad = isnan(outputs["loss"])
if bad: …                           a loss
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.batch_conditions import CodePlace, is_computed_from, returns_numbers
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge.heuristics import TRAINED_NUMBER


def is_on_outputs(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a condition is on what a wrapped model returns."""
    forwards = {id(each.node) for each in frame.sync_points if each.kind == "forward" and each.grad}
    return bool(forwards) and is_computed_from(frame.root, test, lambda part: id(part) in forwards)


def is_on_own_loss(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a condition is on a number of this rank that its name says is trained, or computed from one before."""
    return is_computed_from(frame.root, test, lambda part: _is_own_loss(frame, part))


def _is_own_loss(frame: Frame, part: cst.CSTNode) -> bool:
    rank = frame.value_of(part).rank
    return rank.differs and Origin.DATA in rank.origins and TRAINED_NUMBER.fits(_name_of(part))


def _name_of(part: cst.CSTNode) -> str:
    """The name of a variable, an attribute or an entry: `loss`, `outputs.loss`, `outputs["loss"]`."""
    match part:
        case cst.Name(name) | cst.Attribute(attr=cst.Name(name)):
            return name
        case (
            cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.SimpleString() as key))])
            | cst.Call(func=cst.Attribute(attr=cst.Name("get")), args=[cst.Arg(cst.SimpleString() as key), *_])
        ):
            return key.raw_value
    return ""


def calls_for_numbers(frame: Frame, test: cst.CSTNode) -> frozenset[int]:
    """The calls in a condition, by their ids, of functions of the project that test numbers in what they get."""
    return frozenset(id(call) for call in of_class(test, cst.Call) if _asks_for_numbers(frame, call))


def _asks_for_numbers(frame: Frame, call: cst.Call) -> bool:
    function = function_of(frame, call.func)
    return function is not None and returns_numbers(CodePlace(function.module.tree, function.node))
