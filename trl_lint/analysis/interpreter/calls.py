"""Calls: which function is meant, and what it returns."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from trl_lint.analysis.events import Revealed
from trl_lint.analysis.interpreter import (
    assignment,
    attributes,
    builtin_calls,
    callbacks,
    collectives,
    container_methods,
    library_calls,
    sinks,
)
from trl_lint.analysis.interpreter.library_calls import pure_result
from trl_lint.analysis.interpreter.model_calls import call_on_model, model_output
from trl_lint.analysis.observers import (
    backends,
    device_choice,
    gradient_sync,
    preprocessing,
    random_draws,
    rendezvous,
    side_effects,
)
from trl_lint.analysis.program.classes import ClassInfo, is_module_class
from trl_lint.analysis.program.objects import ClassValue, FunctionValue, ProjectInstance, ProjectModel
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame, derived
from trl_lint.analysis.transfer import batch_shapes, tensor_averages, tensor_devices, tensor_shapes, tensors
from trl_lint.analysis.transfer.tensor_sizes import shaped
from trl_lint.domain import ranks, shapes
from trl_lint.domain.heap import WILDCARD, Cell, join, unknown_cell
from trl_lint.domain.kinds import (
    NONE,
    BatchRole,
    BatchValue,
    BoundMethod,
    ContainerValue,
    InstanceValue,
    IterableValue,
    LibraryInstance,
    LibraryName,
    ModelValue,
    NumberValue,
    PreparedObject,
    ProjectName,
    PureObject,
    StoreFactory,
    StringValue,
    TupleValue,
    library_name_of,
    role_of,
)
from trl_lint.domain.ranks import State
from trl_lint.domain.values import BOTTOM, SAME, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import heuristics, library, models, torch_ops
from trl_lint.knowledge import torch as torch_table
from trl_lint.knowledge.schema import Collective, Sink
from trl_lint.knowledge.torch_ops import Operation, RankTransfer


def call(frame: Frame, node: cst.Call) -> Value:
    """The value of a call expression."""
    func = node.func
    if isinstance(func, cst.Attribute):
        if _is_super(func.value):
            return _call_super(frame, func.attr.value, evaluated(frame, node), node)
        owner = frame.engine.evaluate(frame, func.value)
        if func.attr.value == "backward":
            frame.trace.backward = True
        return call_member(frame, owner, func.attr.value, evaluated(frame, node), node)
    if isinstance(func, cst.Name):
        callee = frame.engine.lookup(frame, func.value)
        if callee is None:
            return _call_unbound(frame, func.value, node)
        return call_value(frame, callee, evaluated(frame, node), node)
    return call_value(frame, frame.engine.evaluate(frame, func), evaluated(frame, node), node)


def _call_unbound(frame: Frame, name: str, node: cst.Call) -> Value:
    """A call of a name that nothing in sight defines."""
    args = evaluated(frame, node)
    if name == "reveal_rank" and args.positional:
        frame.emit(Revealed, node, value=args.positional[0])
        return args.positional[0]
    if name == "reveal_shape" and args.positional:
        frame.emit(Revealed, node, value=args.positional[0], shape=True)
        return args.positional[0]
    return unresolved(frame, args, node)


def evaluated(frame: Frame, node: cst.Call) -> Arguments:
    """Evaluate the arguments in order."""
    args = Arguments()
    for arg in node.args:
        value = frame.engine.evaluate(frame, arg.value)
        gradient_sync.computes_with(frame, value, node)
        if arg.star == "*":
            _add_star(frame, args, value)
        elif arg.star == "**":
            _add_double(frame, args, value)
        elif arg.keyword is not None:
            args.nodes[arg.keyword.value] = arg
            args.keywords[arg.keyword.value] = value
        else:
            args.nodes[len(args.positional)] = arg
            args.positional.append(value)
    return args


def _add_star(frame: Frame, args: Arguments, value: Value) -> None:
    if isinstance(value, TupleValue):
        args.positional.extend(value.items)
    else:
        element = containers.iterate(frame, value)[0]
        args.star = element if args.star is None else join(args.star, element)


def _add_double(frame: Frame, args: Arguments, value: Value) -> None:
    if isinstance(value, ContainerValue):
        for cell in frame.memory.cells(value):
            for key, item in cell.entries.items():
                if isinstance(key, str):
                    args.keywords.setdefault(key, item)
            if cell.rest is not None:
                args.double = cell.rest if args.double is None else join(args.double, cell.rest)
    elif value.kind is Kind.BATCH:
        element = value.as_a(BatchValue)
        args.double = element if args.double is None else join(args.double, element)
    elif value.kind is not Kind.NONE:
        args.double = UNKNOWN if value.rank.state is not State.SAME else SAME


def _is_super(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "super"


def _call_super(frame: Frame, name: str, args: Arguments, node: cst.Call) -> Value:
    """`super().name(...)`: the method of a base in sight, or what the tables say of a library's."""
    function = frame.function
    outer = frame
    while function is not None and function.cls is None and outer.outer is not None:
        outer = outer.outer
        function = outer.function
    cls = frame.cls or outer.cls
    if function is None or function.cls is None or cls is None:
        return unresolved(frame, args, node)
    owner = ProjectInstance(cls)
    above = function.cls.find_above(name)
    if above is not None:
        receiver = cls if above.shows else above.cls
        return frame.engine.call(frame, above, args, node, ProjectInstance(receiver or cls))
    return library_calls.call_inherited(frame, owner, function.cls, name, args, node)


def call_member(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    """The value of `owner.name(...)`."""
    owner = frame.engine.settle(owner)
    return tensor_averages.of_method(frame, owner, name, args, node, _member_called(frame, owner, name, args, node))


def _member_called(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    if owner.rank.state is State.BOTTOM:
        return BOTTOM
    if isinstance(owner, (LibraryName, ProjectName)):
        return call_value(frame, frame.engine.member(owner, name), args, node)
    if name in torch_table.TAKE_A_DEVICE:
        device_choice.indices_chosen(frame, name, args, node)
    side_effects.method(frame, owner, name, args, node)
    match owner:
        case InstanceValue():
            return _call_on_instance(frame, owner, name, args, node)
        case ModelValue():
            return call_on_model(frame, owner, name, args, node)
        case ContainerValue():
            return container_methods.call(frame, owner, name, args, node)
        case ClassValue():
            return _call_on_class(frame, owner, name, args, node)
    if owner.kind in _DATA or owner.rank.differs:
        return _call_on_data(frame, owner, name, args, node)
    if isinstance(owner, StringValue):
        made = derived(ranks.nonlinear(ranks.combine(owner.rank, args.rank())), Kind.STRING, owner, *args.all())
        return made.but(const=_FIELD.sub(WILDCARD, owner.const)) if name == "format" and _is_text(owner) else made
    return _call_on_something(frame, owner, name, args, node)


_DATA = frozenset({Kind.TENSOR, Kind.BATCH, Kind.NUMBER_LIST, Kind.NUMBER})


def _call_on_something(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of what is of no known class: its name may tell."""
    unique = library.unique_method(name)
    if unique is not None:
        return library_calls.call_method(frame, owner, unique, name, args, node)
    row = torch_ops.of_method(name)
    if owner.kind is Kind.UNKNOWN and row.rank in tensors.TO_HOST:
        # Only tensors and array scalars have these.
        return tensors.method(row, owner, args.positional, args.keywords)
    if isinstance(owner, FunctionValue) and name == "__call__":
        return call_value(frame, owner, args, node)
    return _call_on_unknown(frame, owner, name, args, node)


# A field of `"{}/loss".format(split)`; such a text is a key of the same kind as `f"{split}/loss"`.
_FIELD = re.compile(r"\{[^{}]*\}")


def _is_text(value: Value) -> bool:
    return isinstance(value.const, str)


def _call_on_unknown(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of something whose class is not known: the same everywhere only if all that goes in is."""
    if owner.kind is Kind.UNKNOWN and heuristics.tells_rank(name) and not args.all():
        return attributes.named_rank(frame, name)
    if owner.rank.state is State.SAME and args.rank().state is State.SAME and not _has_cells(args):
        return SAME
    result = unresolved(frame, args, node)
    if name == "cpu" or (name == "to" and args.all()):
        # Who has this is a tensor, or is moved as one.
        place = tensor_devices.moved(torch_ops.of_method(name), owner, args.positional, args.keywords)
        return device_choice.located(frame, result.but(device=place), node)
    return result


def _has_cells(args: Arguments) -> bool:
    return any(value.kind is Kind.CONTAINER for value in args.all())


def unresolved(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A call of code that is not in sight: its result is unknown, and so is what it may have changed in place."""
    device_choice.indices_chosen(frame, "", args, node)
    rendezvous.hidden(frame, node)
    random_draws.hidden(frame, args, node)
    for value in args.all():
        if isinstance(value, ContainerValue) and not frame.is_stored(value):
            frame.update(value, unknown_cell)
    for key, value in args.named():
        arg = args.nodes.get(key)
        if arg is not None and frame.discarded is node and value.kind is Kind.TENSOR and value.rank.differs:
            assignment.rebind(frame, arg.value, UNKNOWN)
    return UNKNOWN


def _call_on_instance(frame: Frame, owner: InstanceValue, name: str, args: Arguments, node: cst.Call) -> Value:
    if not isinstance(owner, ProjectInstance):
        return _call_on_library_instance(frame, owner, name, args, node)
    cls = owner.cls
    method = cls.find(name)
    if method is not None and not method.is_property:
        return call_method(frame, owner, cls, method, args, node)
    value = attributes.read(frame, owner, name, node.func)
    if isinstance(value, BoundMethod) and (value.owner, value.name) == (owner, name):
        return library_calls.call_inherited(frame, owner, cls, name, args, node)
    if value.rank.state is State.BOTTOM:
        return BOTTOM
    if value is not UNKNOWN:
        return call_value(frame, value, args, node)
    return library_calls.call_inherited(frame, owner, cls, name, args, node)


def call_method(frame: Frame, owner: Value, cls: ClassInfo, method: Any, args: Arguments, node: cst.Call) -> Value:
    """A method in sight. An inherited one runs as its own class's, unless it is where metrics are shown."""
    if method.cls is not None and method.cls.canonical:
        # The linted project is the library: its own sinks and collectives are still what they are.
        for row in library.rows(f"{method.cls.canonical}.{method.name}"):
            if isinstance(row, Sink):
                sinks.show(frame, row, args, node)
            elif isinstance(row, Collective):
                return collectives.collective(frame, row, args, node)
    if frame.cls is cls:
        facts_of = tuple((value.rank, value.kind, value.wrapping) for value in args.all())
        cls.calls.setdefault(method.name, {})[(id(node), facts_of)] = (args, frame.memory, frame.trace, frame.stepping)
    runs_as = cls if method.cls is None or method.shows else method.cls
    receiver = owner if runs_as is cls else ProjectInstance(runs_as)
    return frame.engine.call(frame, method, args, node, None if method.is_static else receiver)


def _call_on_library_instance(frame: Frame, owner: InstanceValue, name: str, args: Arguments, node: cst.Call) -> Value:
    if isinstance(owner, PreparedObject):
        value = attributes.read(frame, owner, name, node.func, called=True)
        return _prepared_result(frame, owner, name, value, args)
    cls = library_name_of(owner)
    if cls == attributes.ENVIRON:
        return attributes.environment(frame, args.positional[0]) if args.positional else SAME
    if cls.startswith("torch.nn.") or isinstance(owner, PureObject):
        return pure_result(library_calls.spread(frame, args))
    return library_calls.call_method(frame, owner, cls, name, args, node)


def _prepared_result(frame: Frame, owner: Value, name: str, value: Value, args: Arguments) -> Value:
    if name in ("parameters", "named_parameters", "state_dict", "train", "eval"):
        return SAME
    return value if value.rank.state is State.SAME and not args.differing() else UNKNOWN


def _call_on_data(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of a tensor, or of data whose class is not known."""
    row = torch_ops.of_method(name)
    if row.rank is RankTransfer.NOTHING:
        return NONE
    if owner.kind is Kind.BATCH and name == "update" and isinstance(node.func, cst.Attribute):
        promoted = assignment.as_dict(frame, owner, node.func.value, node)
        return container_methods.call(frame, promoted, name, args, node)
    if owner.kind is Kind.BATCH and name in ("items", "keys", "values", "get", "pop", "copy", "setdefault"):
        return batch_shapes.entry(frame, owner, _call_on_batch(owner, name, args), name, args)
    if row.in_place is not None:
        return _in_place(frame, owner, row, args, node)
    if role_of(owner) is BatchRole.OUTPUT and name == "to_tuple":
        return owner
    value = device_choice.located(frame, tensors.method(row, owner, args.positional, args.keywords), node)
    return shaped(value, tensor_shapes.of_method(row, owner, args.positional, args.keywords))


def _call_on_batch(owner: Value, name: str, args: Arguments) -> Value:
    element = derived(owner.rank, Kind.BATCH, owner, shape=shapes.FIELD if role_of(owner) is BatchRole.WHOLE else None)
    if name == "items":
        return IterableValue(ranks.SAME, TupleValue(ranks.SAME, (SAME, element)), ranks.SAME)
    if name == "values":
        return IterableValue(ranks.SAME, element, ranks.SAME)
    if name == "keys":
        return SAME
    if name == "copy":
        return owner
    is_loss = name in ("get", "pop") and args.positional and args.positional[0].const == "loss"
    if is_loss and role_of(owner) is not BatchRole.WHOLE:
        return attributes.output_attribute(owner, "loss")
    return element.but(shape=None)


def _in_place(frame: Frame, owner: Value, row: Operation, args: Arguments, node: cst.Call) -> Value:
    """`x.add_(y)`: the tensor itself changes."""
    result = shaped(tensors.in_place(row, owner, args), tensor_shapes.of_in_place(row, owner))
    if isinstance(node.func, cst.Attribute):
        assignment.rebind(frame, node.func.value, result)
    return result


def _call_on_class(frame: Frame, owner: ClassValue, name: str, args: Arguments, node: cst.Call) -> Value:
    method = owner.cls.find(name)
    if method is not None:
        is_given = "classmethod" in method.decorators and not method.is_static
        return frame.engine.call(frame, method, args, node, owner if is_given else None)
    if name in ("from_pretrained", "from_config"):
        return _instance_of(owner.cls)
    return unresolved(frame, args, node)


def _instance_of(cls: ClassInfo) -> Value:
    if is_module_class(cls):
        return ProjectModel(cls, wrapping=Wrapping.BARE)
    return ProjectInstance(cls)


def call_value(frame: Frame, callee: Value, args: Arguments, node: Any) -> Value:
    """The value of calling a value."""
    callee = frame.engine.settle(callee)
    match callee:
        case FunctionValue(function=function):
            if function.name in models.FOR_GENERATION:
                library_calls.for_generation(frame, args, node)
            returned = frame.engine.call(frame, function, args, node, None)
            return batch_shapes.returned(frame, function, args, returned)
        case LibraryName():
            return _call_dotted(frame, callee.name, args, node)
        case BoundMethod():
            return call_member(frame, callee.owner, callee.name, args, node)
        case ClassValue():
            return _instantiate(frame, callee.cls, args, node)
        case ModelValue():
            rendezvous.forwarded(frame, callee, node)
            gradient_sync.called(frame, callee, node)
            return batch_shapes.with_logits(frame, model_output(frame, args), callee, args)
        case InstanceValue():
            return _call_instance(frame, callee, args, node)
    return BOTTOM if callee.rank.state is State.BOTTOM else unresolved(frame, args, node)


def _call_instance(frame: Frame, callee: InstanceValue, args: Arguments, node: Any) -> Value:
    if gradient_sync.redirects(callee):
        return gradient_sync.redirected(frame, args, node)
    match callee:
        case ProjectInstance(cls=cls):
            method = cls.find("__call__")
            if method is not None:
                return call_method(frame, callee, cls, method, args, node)
        case PreparedObject():
            rendezvous.forwarded(frame, callee, node)
            return batch_shapes.with_logits(frame, model_output(frame, args), callee, args)
        case LibraryInstance(name=name) if name.startswith("torch.nn."):
            return library_calls.module_output(name, args)
        case PureObject():
            return pure_result(library_calls.spread(frame, args))
    return unresolved(frame, args, node)


def _call_dotted(frame: Frame, dotted: str, args: Arguments, node: cst.CSTNode) -> Value:
    if dotted.startswith("builtins."):
        name = dotted[9:]
        return tensor_averages.of_builtin(frame, name, args, node, builtin_calls.call(frame, name, args, node))
    return library_calls.call_function(frame, dotted, args, node)


def _instantiate(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> Value:
    made = _instance_of(cls)
    if made.kind is Kind.MODEL:
        return made
    for base in cls.library_bases():
        preprocessing.note_start(frame, base, args)
        backends.called(frame, base, args)
    callbacks.hand_over(frame, cls, args, node)
    if frame.engine.is_subclass(cls, "transformers.Trainer"):
        frame.trace.launched = True
    init = cls.find("__init__")
    if init is not None and init.cls is cls and not frame.engine.is_entry_class(cls):
        frame.engine.call(frame, init, args, node, made)
    elif init is None:
        _fill_record(frame, cls, args)
    return random_draws.made_of(frame, cls.library_bases(), args, made)


def _fill_record(frame: Frame, cls: ClassInfo, args: Arguments) -> None:
    """A dataclass or NamedTuple keeps what it is given under the names its body lists."""
    for name, value in (*zip(cls.variables, args.positional, strict=False), *args.keywords.items()):
        if name in cls.variables:
            frame.write_attribute(cls, name, value)


def call_property(frame: Frame, owner: Value, method: Any, node: cst.CSTNode) -> Value:
    return frame.engine.call(frame, method, Arguments(), node, owner)


def call_factory(frame: Frame, factory: Value | None, key: Any) -> Value:
    """What a defaultdict's factory makes; `key` tells its entries apart."""
    if factory is None:
        return UNKNOWN
    name = factory.name if isinstance(factory, LibraryName) else ""
    identity = frame.allocations.get(key)
    if identity is None:
        identity = frame.allocations[key] = frame.engine.fresh()
    made = ContainerValue(ranks.SAME, frozenset((identity,)))
    if isinstance(factory, StoreFactory):
        frame.memory.heap[identity] = Cell("dict", factory=factory)
        return made
    if name in ("builtins.list", "builtins.dict", "builtins.set", "collections.deque"):
        shape = "dict" if name.endswith("dict") else "list"
        frame.memory.heap[identity] = Cell(shape)
        return made
    if name in ("builtins.int", "builtins.float"):
        return NumberValue(ranks.SAME, scalar=True, dtype=name[9:])
    if isinstance(factory, FunctionValue) and isinstance(factory.function.node, cst.Lambda):
        return frame.engine.evaluate(frame, factory.function.node.body)
    return UNKNOWN
