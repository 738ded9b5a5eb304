"""How a model is wrapped whose weights are taken or loaded by their names.

DDP(net)                            WRAPPED: the names begin with `module.`
DDP(net).module                     UNWRAPPED
net                                 BARE
class Net(nn.Module):
    def load_state_dict(self, state):
        …                           UNKNOWN: it may know of the prefix
FSDP(net), deepspeed.initialize     UNKNOWN: these have no prefix, or names of their own
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.definitions.self_trained import as_wrappable
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_once,
    callee_of,
    last_name,
    names_in,
    of_class,
    precedes,
)
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.domain.kinds import LibraryInstance, ModelValue, PreparedObject
from trl_lint.domain.model_roles import is_evaluated, is_sharded
from trl_lint.domain.provenance import OnlyAnnotated, WrappedByProjectClass, WrappedWhere, steps
from trl_lint.domain.ranks import SAME, State
from trl_lint.domain.values import UNKNOWN, Value, Wrapping
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import PREPARED_MODEL
from trl_lint.knowledge.models import INNER_MODEL
from trl_lint.knowledge.torch import RENAME_WEIGHTS, RENAMING_HOOKS
from trl_lint.knowledge.torch_distributed import DATA_PARALLEL, DDP

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.frame import Frame

_OF_TORCH = "torch.nn."
# Functions that ask what a model is, or has.
_ASK = frozenset({"getattr", "hasattr", "isinstance", "type"})


def named_model(frame: Frame, receiver: Value, call: cst.CSTNode) -> Value:
    """The model whose method is called, if the names of its weights are known; else a value without wrapping."""
    model = _as_before_tests(frame, _as_model(frame, receiver, call), call)
    if not isinstance(model, ModelValue) or frame.memory.control.engine or is_sharded(model) or is_evaluated(model):
        return UNKNOWN
    cls = class_of(model)
    if (cls is not None and _may_rename(cls)) or any(map(_hides_names, steps(model.provenance))):
        return UNKNOWN
    return model


def wrapping_of_weights(model: Value) -> Wrapping:
    """How such a model is wrapped."""
    return (model.wrapping if isinstance(model, ModelValue) else None) or Wrapping.UNKNOWN


def _as_model(frame: Frame, receiver: Value, call: cst.CSTNode) -> Value:
    if isinstance(receiver, PreparedObject):
        callee = callee_of(call)
        owner = callee.value if isinstance(callee, cst.Attribute) else callee
        is_model = PREPARED_MODEL.fits(last_name(owner)) or (
            isinstance(owner, cst.BaseExpression) and wrapped_models.is_run(frame, owner)
        )
        is_model = is_model and not wrapped_models.is_never_wrapped(owner)
        return wrapped_models.narrowed_at(frame, receiver, call) if is_model else UNKNOWN
    if isinstance(receiver, LibraryInstance) and receiver.name.startswith(_OF_TORCH):
        return ModelValue(receiver.rank, wrapping=Wrapping.BARE)
    if type(receiver) is Value and receiver.rank.state is not State.BOTTOM and _is_wrapped_after(frame, call):
        return ModelValue(SAME, wrapping=Wrapping.BARE)
    return as_wrappable(receiver)


def _is_wrapped_after(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether a function wraps the model whose method it calls only after that: `model = DDP(model)`."""
    callee = callee_of(call)
    model = callee.value if isinstance(callee, cst.Attribute) else None
    if not isinstance(model, cst.Name):
        return False
    wrapping = [each for each in of_class(frame.root, cst.Call) if _wraps(frame, each, model)]
    in_loop = any(isinstance(each, (cst.For, cst.While)) for each in ancestors(frame.root, call))
    return bool(wrapping) and not in_loop and all(precedes(frame.root, call, each) for each in wrapping)


def _wraps(frame: Frame, call: cst.Call, model: cst.Name) -> bool:
    is_given = bool(call.args) and model.deep_equals(call.args[0].value)
    return is_given and library.canonical(library_function_of(frame, call.func)) in (DDP, DATA_PARALLEL)


def _as_before_tests(frame: Frame, model: Value, call: cst.CSTNode) -> Value:
    """A model that a condition wraps, if no test on the way asks for its wrapper: `if loss < best: model.state_dict()`.

    The walk takes a test of what the model has computed for one that may ask for it.
    """
    condition = model.provenance
    if not isinstance(condition, WrappedWhere) or wrapping_of_weights(model) is not Wrapping.UNKNOWN:
        return model
    if condition.function is not frame.function or asks_for_wrapper(frame.root, call, condition):
        return model
    return model.replace(wrapping=Wrapping.MAYBE)


def asks_for_wrapper(root: cst.CSTNode, node: cst.CSTNode, condition: WrappedWhere) -> bool:
    """Whether a test on the way to a node may ask for what decides whether a model is wrapped."""
    tests = [each.test for each in ancestors(root, node) if isinstance(each, (cst.If, cst.IfExp, cst.While))]
    tests += [each.test for each in exits_before(root, node)]
    return any(_asks(root, each, condition) for each in tests)


def _asks(root: cst.CSTNode, test: cst.BaseExpression, condition: WrappedWhere) -> bool:
    names = names_in(test)
    names |= {each for name in names if (bound := assigned_once(root, name)) is not None for each in names_in(bound)}
    return test is condition.node or not names.isdisjoint(condition.names | _ASK)


def _may_rename(cls: ClassInfo) -> bool:
    """Whether a class may give its weights other names than torch does, or has a part of the name of the prefix."""
    lineage = cls.project_lineage()
    if any(base is None for each in lineage for base in each.bases):
        return True
    has_own = any(cls.find(name) is not None for name in RENAME_WEIGHTS)
    return has_own or any(
        INNER_MODEL in each.assigned() or not RENAMING_HOOKS.isdisjoint(names_in(each.node)) for each in lineage
    )


def _hides_names(step: object) -> bool:
    """Whether a model may be another than it seems, or is in a wrapper of the project that gives names of its own."""
    if isinstance(step, WrappedByProjectClass):
        return not RENAME_WEIGHTS.isdisjoint(step.names)
    return isinstance(step, OnlyAnnotated)
