"""Models and their wrappers: the module inside a wrapper, its submodules, and what is derived from them.

The value of each of these:

    model = accelerator.prepare(net)      model: WRAPPED, and `net`, another name of the module inside: UNWRAPPED
    inner = model.module                  UNWRAPPED: its gradients are synchronised by the wrapper
    inner.encoder                         UNWRAPPED, like the whole
    DDP(model).module                     WRAPPED: the first of the two wrappers
    d = DDP(net.eval())                   trained all the same, if its parameters are those of an optimizer
    copy.deepcopy(inner)                  BARE: another model, without a wrapper
    model.eval()                          WRAPPED, device EVALUATED: nothing is trained
"""

from __future__ import annotations

import builtins
from functools import partial
from itertools import takewhile
from operator import is_not

import libcst as cst

from trl_lint.analysis.program.definitions.model_attributes import is_trained
from trl_lint.analysis.program.definitions.objects import PreparedModel, ProjectModel, class_of
from trl_lint.analysis.program.idioms.path_conditions import exits_in
from trl_lint.analysis.program.idioms.stepped_models import has_optimizer
from trl_lint.analysis.program.syntax import (
    ancestors,
    attribute_values,
    below,
    last_name,
    names_in,
    of_class,
    self_attribute,
)
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import returned_models
from trl_lint.domain.devices import EVALUATED, MAYBE_FROZEN
from trl_lint.domain.kinds import (
    ModelRole,
    ModelValue,
    ParameterSource,
    PreparedObject,
    TensorValue,
    class_name_of,
    library_name_of,
)
from trl_lint.domain.model_roles import has_dtensors, in_model_role, is_data_parallel, is_replicated, wrapping_of
from trl_lint.domain.provenance import Prepared, Step, WrappedAgain, WrappedHere, WrappedWhere, steps
from trl_lint.domain.ranks import SAME
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Kind, Value, Wrapping
from trl_lint.knowledge import models
from trl_lint.knowledge.engines import ENGINE
from trl_lint.knowledge.heuristics import (
    LOSS_MODULE,
    MAKES_INPUTS,
    OPTIMIZER_OBJECT,
    PREPARED_MODEL,
    PREPARED_WITH_MODEL,
    SCHEDULER_OBJECT,
)
from trl_lint.knowledge.lightning import FABRIC

_FREEZING = frozenset({"requires_grad", "requires_grad_"})
# Names that any test may contain, whatever it depends on.
_BUILTINS = frozenset(vars(builtins))
# The parameters of a redirection: the wrapper, the module and the method.
REDIRECTED = 3


def inside(frame: Frame, model: Value, node: cst.CSTNode) -> Value:
    """The module inside a wrapper: UNWRAPPED, as its gradients are synchronised by the wrapper.

    If the model was wrapped twice, it is the first wrapper.
    """
    if isinstance(model.provenance, WrappedAgain):
        return model.replace(provenance=frame.step(node, "`{}` is the first of two wrappers", model.provenance.before))
    provenance = frame.step(node, "`{}` is the module inside the wrapper", model.provenance)
    bare = model if isinstance(model, ModelValue) else ModelValue()
    facts = Value(SAME, wrapping=Wrapping.UNWRAPPED, grad=model.grad, device=model.device, provenance=provenance)
    return bare.with_facts_of(facts)


def trained_inside(frame: Frame, model: Value, node: cst.CSTNode) -> Value:
    """What is wrapped here: a loader's last `.eval()` is no sign of a teacher if the wrapper gets an optimizer."""
    if model.grad or model.device != EVALUATED or not has_optimizer(frame.root, node):
        return model
    return model.replace(grad=True, device="")


def unwrapped(frame: Frame, model: Value, node: cst.CSTNode) -> Value:
    """`unwrap_model(model)`. A DataParallel trains in one process, which synchronises nothing."""
    if model.wrapping in WRAPPED_ON_SOME_WAY and not is_data_parallel(model):
        return inside(frame, model, node)
    if model.wrapping is Wrapping.UNWRAPPED:
        return model
    taken_off = frame.step(node, "`{}` is the module inside the wrapper", model.provenance)
    is_inside = model.wrapping in WRAPPED_ON_SOME_WAY
    return model.replace(wrapping=Wrapping.BARE, provenance=taken_off if is_inside else None)


def module_of(frame: Frame, model: Value, node: cst.CSTNode) -> Value:
    """`model.module`: it fails on the way on which the model is bare, whatever decides on the way."""
    is_decided_by_test = model.wrapping is Wrapping.UNKNOWN and (
        is_replicated(model) or any(isinstance(each, WrappedWhere) for each in steps(model.provenance))
    )
    if is_decided_by_test and not is_data_parallel(model):
        return inside(frame, model, node)
    return unwrapped(frame, model, node)


def is_wrapped(value: Value) -> bool:
    """Whether a value is a wrapped model, or a result of `prepare`."""
    return isinstance(value, PreparedObject) or wrapping_of(value) is Wrapping.WRAPPED


def may_be_wrapped(value: Value) -> bool:
    """Whether a value is a model that is wrapped on one path at least, or becomes one if it is a model."""
    return isinstance(value, PreparedObject) or wrapping_of(value) in WRAPPED_ON_SOME_WAY


def wrapped_at(frame: Frame, model: Value, node: cst.CSTNode, by_ddp: bool) -> Step:
    """The step that wraps a model here. FSDP may wrap its own parts: it passes attributes on."""
    if by_ddp and wrapping_of(model) is Wrapping.WRAPPED and is_replicated(model):
        return WrappedAgain(frame.module, node, "it is wrapped once more here", model.provenance)
    return WrappedHere(frame.module, node, "it is wrapped here")


def may_stay_unwrapped(frame: Frame, value: Value, node: cst.CSTNode) -> bool:
    """Whether `prepare` leaves a model unwrapped, on one path at least: it does not wrap a model without gradients.

    A model frozen on one path is trained if a test around `prepare` depends on the same condition, or if it is the
    only model prepared with the optimizer.
    """
    if isinstance(value, ProjectModel) and LOSS_MODULE.fits(value.cls.name):
        return not is_trained(value.cls)
    if value.device == MAYBE_FROZEN:
        return not (_is_tested_like_freezing(frame, node) or _is_with_its_optimizer(node))
    return not value.grad and value.device != EVALUATED


def _is_tested_like_freezing(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a test around a place shares a name with a test in whose branches something is frozen."""
    branches = of_class(frame.root, cst.If)
    around = set(map(id, ancestors(frame.root, node)))
    tested = set().union(*(_names_tested(each.test) for each in branches if id(each) in around))
    others = (each for each in branches if id(each) not in around and not _FREEZING.isdisjoint(names_in(each)))
    return any(not tested.isdisjoint(_names_tested(each.test)) for each in others)


def _is_with_its_optimizer(node: cst.CSTNode) -> bool:
    """Whether exactly one object is passed together with its optimizer: `prepare(model, optimizer, train_loader)`."""
    names = [" ".join(names_in(each.value)).lower() for each in node.args] if isinstance(node, cst.Call) else []
    return sum(not PREPARED_WITH_MODEL.fits(each) for each in names) == 1 and any(map(OPTIMIZER_OBJECT.fits, names))


def _names_tested(test: cst.BaseExpression) -> set[str]:
    """The names in a test, the last one of `args.flag`."""
    owners = {id(each.value) for each in of_class(test, cst.Attribute)}
    return {each.value for each in of_class(test, cst.Name) if id(each) not in owners} - _BUILTINS


def narrowed_to_model(value: Value) -> Value:
    """A result of `prepare` whose use shows that it is a model."""
    wrapping = (value.wrapping or Wrapping.WRAPPED) if value.grad else Wrapping.UNKNOWN
    provenance = value.provenance.as_model if isinstance(value.provenance, Prepared) else value.provenance
    if isinstance(value, PreparedModel):
        return ProjectModel(value.cls, provenance=provenance, wrapping=wrapping, grad=value.grad)
    return ModelValue(SAME, provenance=provenance, wrapping=wrapping, grad=value.grad)


def under_engine(name: str, value: Value) -> Value:
    """What a name holds under DeepSpeed or FSDP, whose wrapper has attributes that DDP does not have."""
    is_prepared = isinstance(value, PreparedObject) and PREPARED_MODEL.fits(name)
    model = narrowed_to_model(value) if is_prepared else value
    if wrapping_of(model) in WRAPPED_ON_SOME_WAY:
        return model.replace(wrapping=Wrapping.UNKNOWN)
    return value


def narrowed_at(frame: Frame, prepared: Value, node: cst.CSTNode) -> Value:
    """A value that is prepared, at least on one path, and whose use at a place shows that it is a model."""
    model = narrowed_to_model(prepared)
    provenance = prepared.provenance
    if prepared.wrapping is not Wrapping.MAYBE:
        return model
    is_undecided = (
        isinstance(provenance, WrappedWhere)
        and provenance.function is frame.function
        and not _may_be_tested(frame, provenance, node)
    )
    return model.replace(wrapping=Wrapping.MAYBE if is_undecided else Wrapping.UNKNOWN)


def is_scheduler(prepared: cst.CSTNode) -> bool:
    """Whether the name of a prepared object is that of a scheduler: `noise_scheduler.config`."""
    return SCHEDULER_OBJECT.fits(last_name(prepared))


def is_never_wrapped(prepared: cst.CSTNode) -> bool:
    """Whether the name of a prepared object is that of a scheduler or of a loss, which DDP does not wrap."""
    return is_scheduler(prepared) or LOSS_MODULE.fits(last_name(prepared))


def is_run(frame: Frame, prepared: cst.BaseExpression) -> bool:
    """Whether a function (for an attribute of `self`, the class) calls a prepared object or reads its parameters.

    Only models are called, and objects that create their inputs.
    """
    attribute = self_attribute(prepared)
    name = prepared.value if isinstance(prepared, cst.Name) else ""
    if MAKES_INPUTS.fits(attribute or name) or not (attribute or name):
        return False
    root = frame.cls.node if attribute and frame.cls is not None else frame.root
    return any(
        (self_attribute(used) or (used.value if isinstance(used, cst.Name) else "")) == (attribute or name)
        for used in map(_used_as_model, of_class(root, cst.Call))
    )


def _used_as_model(call: cst.Call) -> cst.BaseExpression:
    """The object that a call runs, or whose parameters it reads."""
    reads_parameters = isinstance(call.func, cst.Attribute) and call.func.attr.value in models.ASKED_FOR_PARAMETERS
    return call.func.value if reads_parameters and isinstance(call.func, cst.Attribute) else call.func


def _may_be_tested(frame: Frame, condition: WrappedWhere, node: cst.CSTNode) -> bool:
    """Whether a test before a place, around it or with an exit, may distinguish the two paths."""
    around = set(map(id, ancestors(frame.root, node)))
    tested = condition.names - _BUILTINS
    return any(
        not tested.isdisjoint(names_in(branch.test))
        for branch in of_class(frame.root, cst.If)
        if branch.test is not condition.node and (id(branch) in around or exits_in(branch))
    )


def part(model: Value) -> Value:
    """A submodule: UNWRAPPED if the whole is."""
    wrapping = Wrapping.UNWRAPPED if model.wrapping is Wrapping.UNWRAPPED else Wrapping.BARE
    provenance = model.provenance if wrapping is Wrapping.UNWRAPPED else None
    submodule = ModelValue(SAME, wrapping=wrapping, grad=model.grad, device=model.device, provenance=provenance)
    return replicated(submodule) if is_replicated(model) else submodule


def copied(model: Value) -> Value:
    """A copy of a model: another model without a wrapper."""
    if wrapping_of(model) is not Wrapping.UNWRAPPED:
        return model
    return ModelValue(SAME, wrapping=Wrapping.BARE)


def replicated(value: Value) -> Value:
    """A model as DDP keeps it: complete on every rank.

    So it is if it may be in a DataParallel of this rank's GPUs: `if n_gpu > 1: net = DataParallel(net)`.
    """
    is_other = isinstance(value, ModelValue) and value.role in (ModelRole.OTHER, ModelRole.DATA_PARALLEL)
    return in_model_role(value, ModelRole.REPLICATED) if is_other else value


def note_wrapped(frame: Frame, args: Arguments, node: cst.CSTNode, by_ddp: bool = False) -> None:
    """`DDP(net)`, `accelerator.prepare(net)`: from here on `net` is the module inside the wrapper.

    So is `raw` after `raw = net`, and `self.net`; and `net` itself in `DDP(torch.compile(net.to(device)))`.
    """
    for index, value in enumerate(args.positional):
        expression = args.expression(index)
        if expression is None or _as_bare(value, by_ddp) is None:
            continue
        for holder in returned_models.holders(frame, expression):
            held = value if holder is expression else frame.value_of(holder)
            _note_inside(frame, holder, held, node, by_ddp)


def _note_inside(frame: Frame, holder: cst.BaseExpression, value: Value, node: cst.CSTNode, by_ddp: bool) -> None:
    """What holds a model now holds the module inside a wrapper."""
    model = _as_bare(value, by_ddp)
    if model is None:
        return
    provenance = frame.step(node, "it is wrapped here, under another name", value.provenance)
    inner = model.replace(wrapping=Wrapping.UNWRAPPED, provenance=provenance)
    inner = replicated(inner) if by_ddp else inner
    for name in _names_of(frame, holder, value, node):
        frame.memory.names[name] = inner
    attribute = self_attribute(holder)
    if attribute and frame.cls is not None and frame.memory.attributes.get((frame.cls, attribute)) is value:
        frame.write_attribute(frame.cls, attribute, inner)


def _as_bare(value: Value, by_ddp: bool) -> Value | None:
    """A bare model; what DDP wraps is one, whatever has created it. None for everything else."""
    if wrapping_of(value) is Wrapping.BARE:
        return value
    is_model = by_ddp and (type(value) is Value or models.is_layer(class_name_of(value)))
    return ModelValue(SAME, wrapping=Wrapping.BARE) if is_model else None


def _names_of(frame: Frame, expression: cst.BaseExpression, model: Value, node: cst.CSTNode) -> list[str]:
    """The names that hold a bare model: its own, `raw` after `raw = model`, and `net` after `self.model = net`."""
    names, attribute = frame.memory.names, self_attribute(expression)
    if isinstance(expression, cst.Name):
        aliases = [name for name, value in _bound_before(frame, node).items() if expression.deep_equals(value)]
        return [name for name in (expression.value, *aliases) if names.get(name) is model]
    assigned = (value for name, value in attribute_values(frame.root) if attribute and name == attribute)
    held = [each.value for each in assigned if isinstance(each, cst.Name)]
    return [name for name in held if name in names and _as_bare(names[name], False) is not None][:1]


def _bound_before(frame: Frame, node: cst.CSTNode) -> dict[str, cst.BaseExpression]:
    """What assignments in the text before a node bind names to last."""
    assigned = (each for each in takewhile(partial(is_not, node), below(frame.root)) if isinstance(each, cst.Assign))
    return {
        target.target.value: each.value
        for each in assigned
        for target in each.targets
        if isinstance(target.target, cst.Name)
    }


def parameter(frame: Frame, model: Value, name: str, node: cst.CSTNode) -> Value:
    """`module.weight` of an unwrapped module, read at a node. DDP shards nothing."""
    source = None if is_replicated(model) else ParameterSource(name, node, frame.function)
    return TensorValue(SAME, source, provenance=model.provenance)


# --- redirections ---------------------------------------------------------------------------------------


def redirects(value: Value) -> bool:
    """Whether a call of this value runs its arguments inside a wrapper's forward."""
    cls = class_of(value)
    name = library_name_of(value) if cls is None else cls.name
    return name.rpartition(".")[2] in models.FORWARD_REDIRECTIONS


def redirected(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`redirect(wrapper, module, method, *args)`: the method runs inside the wrapper's forward."""

    if len(args.positional) < REDIRECTED:
        return frame.engine.unresolved(frame, args, node)
    method, *rest = args.positional[REDIRECTED - 1 :]
    inner = Arguments(map(_in_forward, rest), {name: _in_forward(value) for name, value in args.keywords.items()})
    inner.nodes = {index - REDIRECTED: arg for index, arg in args.nodes.items() if isinstance(index, int)}
    inner.star, inner.double = args.star, args.double
    # A lambda finds the module among the names around it.
    names = frame.memory.names
    inside = {name: (value, _in_forward(value)) for name, value in names.items() if value.kind is Kind.MODEL}
    names.update((name, during) for name, (_, during) in inside.items())
    returned = frame.engine.call_value(frame, method, inner, node)
    names = frame.memory.names
    names.update((name, before) for name, (before, during) in inside.items() if names.get(name) is during)
    return returned


def _in_forward(value: Value) -> Value:
    """A model while its wrapper's forward runs, which will synchronise the gradients of what is computed with it."""
    return value.replace(grad=False) if value.kind is Kind.MODEL else value


def has_wrapped_model(frame: Frame) -> bool:
    """Whether a model is reachable that is or may be wrapped, or an object that wraps: then there are several ranks."""
    return bool(frame.accelerator()) or any(map(is_shared, frame.reachable_values()))


def is_shared(value: Value) -> bool:
    """Whether several ranks train it. A model in DataParallel is trained by one process."""
    is_shared = may_be_wrapped(value) or has_dtensors(value)
    return (is_shared and not is_data_parallel(value)) or library_name_of(value) in (ENGINE, FABRIC)
