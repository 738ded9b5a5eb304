"""Methods of models: the forward pass, generation, and methods that return the model or a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import libcst as cst

from trl_lint.analysis.interpreter.conditions import none_tests
from trl_lint.analysis.interpreter.objects import (
    attributes,
    given_wrappers,
    model_outputs,
    models_of_trainers,
    own_wrappers,
)
from trl_lint.analysis.interpreter.operations.pure_calls import element_of, values_of_dicts
from trl_lint.analysis.program.definitions.model_attributes import learned_parts, runs_a_part
from trl_lint.analysis.program.definitions.objects import (
    ClassValue,
    FunctionValue,
    ProjectInstance,
    ProjectModel,
    class_of,
)
from trl_lint.analysis.program.definitions.own_generates import returns_tokens_of_library
from trl_lint.analysis.program.definitions.reduced_forwards import APPLY, is_reduced, returns_reduced
from trl_lint.analysis.program.definitions.refusing_methods import refusing_test
from trl_lint.analysis.program.definitions.run_arguments import runs_an_argument
from trl_lint.analysis.program.definitions.timed_outputs import timed_parts
from trl_lint.analysis.program.definitions.unread_parameters import unread_parameters
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import own_shares
from trl_lint.analysis.transfer.models import (
    frozen_models,
    gradients,
    saving_methods,
    synchronising_methods,
    wrapped_models,
)
from trl_lint.domain import ranks
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import BatchRole, BoundMethod, TupleValue, in_role
from trl_lint.domain.model_roles import may_be_model
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import NO_WRITES, SAME, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import models
from trl_lint.knowledge.heuristics import COUNTER, EXCHANGES, PART_OF_MODEL

_NOTHING_KNOWN = frozenset({State.BOTTOM, State.UNKNOWN})
# How deep the inputs of a model are nested: a dict of lists of tensors, a list with a dict per sample.
_MAX_NESTED = 3


def call_model(frame: Frame, model: Value, args: Arguments, node: cst.CSTNode) -> Value:
    """A call of a model, which runs its forward."""
    for observe in frame.observers.model_call:
        observe(frame, model, node)
    return forward(frame, model, args, node)


def call_on_model(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of a model: those that return the model, and those that compute."""
    callee = callee_of(node)
    if name in models.RETURN_THE_MODEL:
        target = callee.value if isinstance(callee, cst.Attribute) else None
        return frozen_models.switched(frame, receiver, name, args, target)
    if name in models.LIST_PARTS:
        return SAME
    if name == models.INNER_MODEL:
        inner = attributes.of_model(frame, receiver, name, callee)
        for observe in frame.observers.model_method:
            observe(frame, inner, "forward", node)
        return forward(frame, receiver, args, node)
    if own_wrappers.has(frame, receiver, name):
        return UNKNOWN
    attributes.of_model(frame, receiver, name, callee, called=True)
    own = receiver.cls.find(name) if isinstance(receiver, ProjectModel) else None
    if isinstance(receiver, ProjectModel) and own is not None:
        given_wrappers.note_call(frame, receiver.cls, own)
        if own.module is not frame.module and given_wrappers.reads_one(receiver.cls, own):
            frame.engine.call(frame, own, args, node, ProjectInstance(receiver.cls))  # its file may be left out
        elif name != "forward" and synchronising_methods.run(frame, receiver, name, args, node) is None:
            saving_methods.run(frame, receiver, name, args, node)
    if name in models.ADD_WHAT_IS_TRAINED:
        frozen_models.switched(frame, receiver, name, args, callee.value if isinstance(callee, cst.Attribute) else None)
    if name in models.REFERENCE_CONTEXTS:
        gradients.note_no_train(frame, node)
    output = output_of(frame, args)
    if PART_OF_MODEL.fits(name) and not output.rank.differs and not _runs_a_part(receiver, name):
        return wrapped_models.part(receiver)
    for observe in frame.observers.model_method:
        observe(frame, receiver, name, node)
    if name in models.GENERATES:
        return output if _generates_by_own_code(frame, receiver, name) else generated(frame, args)
    if _returns_itself(receiver, name):
        return receiver
    if name == "forward" or (receiver.wrapping and receiver.wrapping.is_bare):
        computed = (forward if name == "forward" else _computed)(frame, receiver, args, node)
        return computed if own is None else _none_where_refused(own, computed)
    return UNKNOWN if output.rank.differs else SAME


def _none_where_refused(method: FunctionInfo, computed: Value) -> Value:
    """What a method of a model returns that is None where a test in it refuses this rank's own result."""
    test = refusing_test(method) if none_tests.is_of_own_data(computed.rank) else None
    if test is None:
        return computed
    return none_tests.none_on_some(computed, method.module, test, Rank(State.LOCAL, computed.rank.origins))


def _runs_a_part(receiver: Value, name: str) -> bool:
    """Whether a method of a project model, whatever its name is, runs the model or a part of it."""
    cls = class_of(receiver)
    method = None if cls is None else cls.find(name)
    return cls is not None and method is not None and runs_a_part(cls, method)


def _generates_by_own_code(frame: Frame, model: Value, name: str) -> bool:
    """Whether a project model generates by code of its own: that may give all ranks the same shape."""
    cls = class_of(model)
    method = None if cls is None else cls.find(name)
    if cls is None or method is None:
        return False
    return not returns_tokens_of_library(cls, method, frame.read_attribute)


def _returns_itself(receiver: Value, name: str) -> bool:
    """Whether a method of a bare model returns it: one that configures a project model, or drops an adapter."""
    if name in models.DROP_ADAPTERS:
        return receiver.wrapping is Wrapping.BARE
    method = receiver.cls.find(name) if isinstance(receiver, ProjectModel) else None
    return method is not None and method.returns_itself and receiver.wrapping is Wrapping.BARE


def forward(frame: Frame, model: Value, args: Arguments, node: cst.CSTNode) -> Value:
    """The result of a model's forward pass."""
    computed = _of_run_model(frame, model, args, node)
    if computed is not None and not any(each.rank.state in _NOTHING_KNOWN for each in (computed, *computed.inside())):
        return computed
    gathered = synchronising_methods.run(frame, model, "forward", args, node)
    computed = _computed(frame, model, args, node)
    return computed if gathered is None else _with_gradients_of(frame, computed, gathered)


def _with_gradients_of(frame: Frame, computed: Value, gathered: Value) -> Value:
    """What a model computes, each part with what its code leaves of the gradient: `return loss, scores`."""
    parts = gathered.items if isinstance(gathered, TupleValue) else ()
    if not any(each.gradient is not None for each in parts):
        return computed if gathered.gradient is None else computed.replace(gradient=gathered.gradient)
    known = computed.items if isinstance(computed, TupleValue) and len(computed.items) == len(parts) else None
    outputs = known or [containers.iterate(frame, computed)[0]] * len(parts)
    with_gradients = [
        output if part.gradient is None else output.replace(gradient=part.gradient)
        for output, part in zip(outputs, parts, strict=True)
    ]
    return TupleValue(computed.rank, with_gradients, provenance=computed.provenance)


def _computed(frame: Frame, model: Value, args: Arguments, node: cst.CSTNode) -> Value:
    """What a model computes from its inputs, in its forward pass or in a method such as `encode`."""
    args = _read(model, args)
    value = output_of(frame, args)
    value = value.replace(rank=models_of_trainers.of_output(frame, model, value.rank))
    if value.rank.differs and _is_given_an_exchange(args):
        value = UNKNOWN
    for refine in frame.domains.forward:
        value = refine(frame, model, args, value)
    return _with_timings(frame, model, _with_learned_parts(frame, model, value), node)


def _of_run_model(frame: Frame, module: Value, args: Arguments, node: cst.CSTNode) -> Value | None:
    """What the code of a module computes that is passed another model, which it runs: `criterion(model, batch)`."""
    cls = class_of(module)
    method = None if cls is None else cls.find("forward")
    if cls is None or method is None or wrapped_models.may_be_wrapped(module):
        return None
    if not runs_an_argument(cls) or not any(map(may_be_model, args.all())):
        return None
    return frame.engine.call(frame, method, args, node, ProjectInstance(cls))


_DATA = frozenset({Kind.BATCH, Kind.TENSOR})


def _is_given_an_exchange(args: Arguments) -> bool:
    """Whether an argument is a function that gathers or reduces, which a model may use: `model(x, gather)`."""
    names = (last_name(each.value) for each in args.nodes.values() if isinstance(each.value, (cst.Attribute, cst.Name)))
    return any(map(_exchanges, args.all())) or any(map(EXCHANGES.fits, names))


def _exchanges(value: Value) -> bool:
    match value:
        case FunctionValue(function=function):
            return returns_reduced(function)
        case BoundMethod(receiver=ClassValue(cls=cls), name=name):
            return name == APPLY and is_reduced(cls)
    return False


def _read(model: Value, args: Arguments) -> Arguments:
    """The arguments that are data for a forward; others are the same on all ranks to it.

    Those are what a project model does not read, counts, and the GPU that the rest is moved to:
    `model(batch, step=step)`, `model.parsed(gpu, batch)`.
    """
    cls = class_of(model)
    unread = frozenset[str]() if cls is None else unread_parameters(cls)
    alike = unread.union((each for each in args.keywords if COUNTER.fits(each)), _gpu_numbers(args))
    return args.alike(alike) if alike else args


def _gpu_numbers(args: Arguments) -> list[int | str]:
    """The arguments that are the process's own number, beside others that are data."""
    if all(value.kind not in _DATA for value in args.all()):
        return []
    return [key for key, value in args.named() if value.kind is Kind.NUMBER and value.rank.origins == Origin.RANK]


def _with_timings(frame: Frame, model: Value, output: Value, node: cst.CSTNode) -> Value:
    """The output of a project model whose forward also returns timings, where its parts get names of their own."""
    cls = class_of(model) if output.kind is Kind.BATCH else None
    match frame.statement:
        case cst.Assign(targets=[cst.AssignTarget(cst.Tuple(names))], value=called) if called is node and cls:
            timed = timed_parts(cls, len(names))
        case _:
            timed = ()
    if not any(timed):
        return output
    computed = containers.iterate(frame, output)[0]
    return TupleValue(
        output.rank,
        [computed.replace(rank=ranks.CLOCK_LOCAL) if each else computed for each in timed],
        provenance=output.provenance,
    )


def _with_learned_parts(frame: Frame, model: Value, output: Value) -> Value:
    """The output of a project model, whose forward may also return parameters."""
    parts = learned_parts(model.cls) if isinstance(model, ProjectModel) and output.rank.differs else ()
    if not any(parts):
        return output
    computed = containers.iterate(frame, output)[0]
    return TupleValue(
        output.rank, [model_outputs.LEARNED if each else computed for each in parts], provenance=output.provenance
    )


def generated(frame: Frame, args: Arguments) -> Value:
    """The token ids that a model generates from its inputs."""
    value = output_of(frame, args)
    for refine in frame.domains.generated:
        value = refine(frame, args, value)
    return value


def output_of(frame: Frame, args: Arguments) -> Value:
    """The output of a model: weights are the same on all ranks, so it differs as its inputs do."""
    contents = (_ranks_in(frame, value, _MAX_NESTED) for value in args.all() if value.kind is Kind.CONTAINER)
    rank = ranks.nonlinear(ranks.combine_all((args.rank(), *chain.from_iterable(contents))))
    rank = own_shares.of_forward(frame, args, rank)
    output = derived(rank, Kind.BATCH, *args.all(), device="", grad=True).replace(writes=NO_WRITES)
    return in_role(output, BatchRole.OUTPUT)


def _ranks_in(frame: Frame, container: Value, depth: int) -> Iterator[ranks.Rank]:
    """The facts of what a container holds, and of what is in the containers in it: a list with a dict per sample."""
    element = containers.iterate(frame, container)[0]
    for value in (element, *(element_of(frame, each) for each in values_of_dicts(frame, container))):
        yield value.rank
        if value.kind is Kind.CONTAINER and depth > 1:
            yield from _ranks_in(frame, value, depth - 1)
