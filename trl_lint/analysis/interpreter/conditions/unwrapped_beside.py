"""Models that the other branch of a test takes out of their wrapper: the test asks for the wrapper in its own way.

For example:

    if args.parallel_mode.value == "distributed":
        model.module.encode(x)
    else:
        model.encode(x)                             here nothing is known of a wrapper
    model.module.width if several else model.width  the same
    if args.weights:
        model.module.load(args.weights)             the test asks for something else: both branches know the wrapper
    else:
        model.module.reset(); model.head            WRAPPED
    if isinstance(model, DataParallel): model = model.module
    else: model.head                                WRAPPED in DDP, of which the test does not ask
"""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from trl_lint.analysis.interpreter.conditions.wrapper_questions import is_of_other_wrapper
from trl_lint.analysis.interpreter.conditions.wrapping_tests import without_not
from trl_lint.analysis.program.idioms.result_uses import values_with_module
from trl_lint.analysis.program.syntax import self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import PreparedObject
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.values import UNKNOWN, Value, Wrapping
from trl_lint.knowledge import models

_READS_MODULE = rb"\.%b\b" % models.INNER_MODEL.encode()


def shown_by_other_branch(frame: Frame, node: cst.If | cst.IfExp, outcome: bool) -> dict[str, Value]:
    """Names of wrapped models whose `.module` only the other branch of a test reads, with their values on this one."""
    found: dict[str, Value] = {}
    own, other = _branches(frame, node, outcome)
    for name in sorted(names_unwrapped(other) - names_unwrapped(own)):
        shown = _shown(frame.engine.lookup(frame, name))
        if shown is not None:
            found[name] = shown
    return found


def of_self_shown_by_other_branch(
    frame: Frame, node: cst.If | cst.IfExp, outcome: bool
) -> dict[tuple[Hashable, str], Value]:
    """The same for models that are attributes of `self`: `self.model.module.encode(x)`."""
    found: dict[tuple[Hashable, str], Value] = {}
    if frame.cls is None:
        return found
    own, other = _branches(frame, node, outcome)
    for name in sorted(_of_self(other) - _of_self(own)):
        shown = _shown(frame.read_attribute(frame.cls, name))
        if shown is not None:
            found[frame.cls, name] = shown
    return found


def _shown(model: Value | None) -> Value | None:
    """A model of which nothing is known of a wrapper here; None for what is not known to be wrapped elsewhere."""
    if isinstance(model, PreparedObject):
        return UNKNOWN
    if model is None or wrapping_of(model) is not Wrapping.WRAPPED:
        return None
    return model.replace(wrapping=Wrapping.UNKNOWN)


def _branches(frame: Frame, node: cst.If | cst.IfExp, outcome: bool) -> tuple[cst.CSTNode | None, cst.CSTNode | None]:
    """The branch that is taken and the other one; none if no model is taken out of a wrapper in the whole file.

    Nor if the test asks for another wrapper than the model has.
    """
    if node.orelse is None or not frame.module.mentions(_READS_MODULE):
        return None, None
    if is_of_other_wrapper(frame, without_not(node.test, True)[0]):
        return None, None
    return (node.body, node.orelse) if outcome else (node.orelse, node.body)


def _of_self(code: cst.CSTNode | None) -> set[str]:
    return set() if code is None else {self_attribute(each) for each in values_with_module(code)} - {""}


def names_unwrapped(code: cst.CSTNode | None) -> set[str]:
    """The names of models whose `.module` some code reads."""
    return set() if code is None else {each.value for each in values_with_module(code) if isinstance(each, cst.Name)}
