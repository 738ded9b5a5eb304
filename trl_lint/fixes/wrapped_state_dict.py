"""The fix for a state dict whose names do not fit: that of the bare model, or a load by the one whose names it has."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.checkpoint_events import StateLoaded
from trl_lint.analysis.program.syntax import callee_of
from trl_lint.domain.model_roles import is_wrapped_by_code
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Wrapping
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.bare_model import NO_ACCELERATOR
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.scope import dotted
from trl_lint.fixes.support.sure_wrapping import is_always_wrapped
from trl_lint.knowledge.models import INNER_MODEL

_UNDECIDED = "a condition decides whether the model is wrapped"
_NO_NAME = "the wrapped model has no name here"
_ELSEWHERE = "the state dict is taken elsewhere, where other code may need its names"
_UNDER_FSDP = "under FSDP the wrapper itself has to load it"
_IN_FILES = "it changes what is in the files, which other programs may read"
_OLD_FILES = "files that others have saved may have other names"
_MAY_BE_BARE = "where the model is not wrapped, a part of it may be named `module`"
_CHANGES = "it changes what is trained: the weights are loaded from then on"


class WrappedStateDictFix(RuleFix[StateLoaded]):
    is_collective = False
    applicabilities = (Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: StateLoaded) -> FixPlan | NoFix:
        """The plan to load by the right names, or why that is left to the author."""
        if Wrapping.MAYBE in (event.model.wrapping, event.state.owner):
            return NoFix(_UNDECIDED)
        loading = event.node.func
        if not isinstance(loading, cst.Attribute):
            return NoFix(_NO_NAME)
        if event.model.wrapping in WRAPPED_ON_SOME_WAY:
            return _bare(event, loading.value, event.model.provenance, is_wrapped_by_code(event.model))
        if event.read is not None:
            return NoFix(_IN_FILES)
        if event.wrapper is not None and _is_of_wrapper(event, event.wrapper):
            return FixPlan((Replace(loading.value, event.wrapper),), caution=_caution(event))
        taking = event.argument.value.func if isinstance(event.argument.value, cst.Call) else None
        if event.argument.value is event.taken.node and isinstance(taking, cst.Attribute):
            return _bare(event, taking.value, event.taken, event.taken.by_code)
        return NoFix(_ELSEWHERE)

    def title_for(self, event: StateLoaded) -> str:
        if event.model.wrapping in WRAPPED_ON_SOME_WAY:
            return "Load it into the bare model"
        return "Take it from the bare model" if event.wrapper is None else "Load it into the wrapped model"


def _is_of_wrapper(event: StateLoaded, wrapper: cst.BaseExpression) -> bool:
    """Whether the state dict is that of a wrapped model on each way on which the module inside one loads it.

    It is, if both are the same model, or if its own is always wrapped.
    """
    taking = callee_of(event.taken.node)
    model = taking.value if isinstance(taking, cst.Attribute) else None
    if model is None or not event.taken.by_code:
        return True
    is_same = event.taken.module is event.module and dotted(model) == dotted(wrapper) != ""
    return is_same or is_always_wrapped(model, event.taken, event.taken.module)


def _bare(event: StateLoaded, model: cst.BaseExpression, wrapped: Step | None, by_code: bool) -> FixPlan | NoFix:
    """The plan to use the module inside the wrapper.

    wrapped: the chain that says where it has got its wrapper. by_code: whether that is done by the code itself, and
    not by a library.
    """
    if not dotted(model):
        return NoFix(_NO_NAME)
    if by_code:
        if is_always_wrapped(model, wrapped, event.module):
            return FixPlan((Replace(model, cst.Attribute(model, cst.Name(INNER_MODEL))),), caution=_caution(event))
        return FixPlan((Replace(model, _if_wrapped(model)),), caution=_caution(event) or _MAY_BE_BARE)
    if not event.accelerator:
        return NoFix(NO_ACCELERATOR)
    unwrap = cst.parse_expression(f"{event.accelerator}.unwrap_model")
    return FixPlan((Replace(model, cst.Call(unwrap, [cst.Arg(model)])),), caution=_UNDER_FSDP)


def _if_wrapped(model: cst.BaseExpression) -> cst.Call:
    """`getattr(model, "module", model)`: the module inside the wrapper, or the model itself."""
    arguments = [cst.Arg(model), cst.Arg(cst.SimpleString(f'"{INNER_MODEL}"')), cst.Arg(model.deep_clone())]
    return cst.Call(cst.Name("getattr"), arguments)


def _caution(event: StateLoaded) -> str:
    """Why a fix may not be wanted: if names that do not fit are no error, the program has done without the weights."""
    if not event.strict:
        return _CHANGES
    return "" if event.read is None else _OLD_FILES
