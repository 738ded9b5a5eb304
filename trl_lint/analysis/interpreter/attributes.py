"""Attributes: of models, of objects in sight, of instances of library classes."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import AttributeRead
from trl_lint.analysis.observers import gradient_sync
from trl_lint.analysis.program.classes import ClassInfo
from trl_lint.analysis.state.frame import Frame, derived
from trl_lint.analysis.transfer import tensor_shapes, tensors
from trl_lint.domain import ranks
from trl_lint.domain.devices import GLOBAL_RANK, Device
from trl_lint.domain.heap import Cell
from trl_lint.domain.ranks import State
from trl_lint.domain.values import (
    BOTTOM,
    DATA_PARALLEL,
    OUTPUT,
    PREPARED,
    SAME,
    UNKNOWN,
    WORLD_SIZE,
    Kind,
    Value,
    Wrapping,
)
from trl_lint.knowledge import datasets, library, models
from trl_lint.knowledge.datasets import DATASET
from trl_lint.knowledge.schema import PURE
from trl_lint.knowledge.torch_distributed import GLOBAL_RANK_VARIABLES, RANK_NAMES, RANK_VARIABLES, WORLD_VARIABLES

ENVIRON = "os.environ"


def read(frame: Frame, owner: Value, name: str, node: cst.CSTNode, called: bool = False) -> Value:
    """The value of `owner.name`."""
    owner = frame.engine.settle(owner)
    kind = owner.kind
    if kind is Kind.MODULE:
        return frame.engine.member(owner, name)
    if kind is Kind.INSTANCE:
        return _of_instance(frame, owner, name, node, called)
    if kind is Kind.MODEL:
        return of_model(frame, owner, name, node, called)
    if owner.rank.state is State.BOTTOM:
        return BOTTOM
    if kind in (Kind.TENSOR, Kind.BATCH, Kind.NUMBERS) or owner.rank.differs:
        return tensor_shapes.attribute_of(frame, owner, _of_data(owner, name), name)
    if kind is Kind.CLASS:
        return _of_class(frame, owner, name)
    if kind is Kind.CELLS:
        return Value(ranks.SAME, Kind.BOUND, (owner, name))
    unique = library.unique_method(name)
    if unique is not None and kind is Kind.UNKNOWN:
        found = _library_attribute(frame, unique, name, Value(ranks.SAME, Kind.INSTANCE, unique))
        if found is not None:
            return found
    if kind is Kind.UNKNOWN and name in RANK_NAMES:
        return named_rank(frame, name)
    if kind is Kind.UNKNOWN and name == "module" and owner.rank.state is State.UNKNOWN:
        return UNKNOWN
    return SAME if owner.rank.state is State.SAME else UNKNOWN


def named_rank(frame: Frame, name: str) -> Value:
    """What only its name says something about: the place of this process among all of them."""
    return RANK_NAMES[name].but(why=frame.step(frame.statement, f"`{name}` is this rank's own"))


def _of_data(owner: Value, name: str) -> Value:
    if owner.data == OUTPUT:
        return output_attribute(owner, name)
    found = tensors.attribute(owner, name)
    if found is not None:
        return found
    return derived(owner.rank, Kind.BATCH if owner.kind is not Kind.TENSOR else Kind.TENSOR, owner)


def output_attribute(owner: Value, name: str) -> Value:
    """A field of a model's output: its loss is a local mean over an unknown count."""
    if name in ("loss", "aux_loss"):
        rank = ranks.Rank(State.LOCAL, owner.rank.origins, "mean") if owner.rank.differs else owner.rank
        return derived(rank, Kind.TENSOR, owner, scalar=True, dtype="float")
    return derived(owner.rank, Kind.BATCH, owner)


# --- models ---------------------------------------------------------------------------------------------


def of_model(frame: Frame, model: Value, name: str, node: cst.CSTNode, called: bool = False) -> Value:
    """An attribute of a model; what the wrapper does not forward is told to the rules."""
    if name == "module":
        if model.wrapping is Wrapping.WRAPPED and model.data != DATA_PARALLEL:
            return gradient_sync.inside(frame, model, node)
        return model if model.wrapping is Wrapping.INSIDE else model.but(wrapping=Wrapping.BARE, why=None)
    if name in ("training",):
        return Value(ranks.SAME, Kind.NUMBER, scalar=True, dtype="bool")
    if model.wrapping is Wrapping.WRAPPED and not _is_there(frame, name):
        frame.emit(
            AttributeRead,
            node,
            model=model,
            attribute=name,
            called=called,
            cls=frame.cls,
            accelerator=frame.accelerator(),
        )
    if name in models.DATA:
        return SAME
    if name in library.WRAPPER_ATTRIBUTES:
        return Value(ranks.SAME, Kind.BOUND, (model, name))
    if name == models.BASE_PREFIX:
        return Value(ranks.SAME, Kind.STRING, models.BASE_PREFIX)
    if name in models.PARAMETERS and model.wrapping is Wrapping.INSIDE:
        return gradient_sync.parameter(frame, model, name, node)
    return gradient_sync.part(model)


def _is_there(frame: Frame, name: str) -> bool:
    """Whether the wrapper has the attribute, or the code is prepared for its absence or for another engine."""
    return name in library.WRAPPER_ATTRIBUTES or frame.forgiving > 0 or frame.memory.control.engine


def narrowed_to_model(value: Value) -> Value:
    """What `prepare` made of something, once its use shows that it is a model."""
    return Value(ranks.SAME, Kind.MODEL, why=value.why, wrapping=Wrapping.WRAPPED)


# --- instances ------------------------------------------------------------------------------------------


def _of_instance(frame: Frame, owner: Value, name: str, node: cst.CSTNode, called: bool) -> Value:
    data = owner.data
    if isinstance(data, ClassInfo):
        return _of_object(frame, owner, data, name, node)
    if data == PREPARED:
        if name in models.ONLY_MODELS_HAVE or name == "module":
            return of_model(frame, narrowed_to_model(owner), name, node, called)
        return SAME if name in library.OPTIMIZER_LOADER_ATTRIBUTES else UNKNOWN
    found = _library_attribute(frame, data, name, owner)
    if found is None and data == PURE.data:
        return SAME
    return UNKNOWN if found is None else found


def _of_object(frame: Frame, owner: Value, cls: ClassInfo, name: str, node: cst.CSTNode) -> Value:
    own = frame.engine.own_attribute(cls, name) if frame.engine.own else None
    if own is not None:
        return own.value
    value = frame.read_attribute(cls, name)
    if value is not None and (value.rank.state is not State.BOTTOM or cls.state != "new"):
        return _before_assignment(frame, cls, name) if value.rank.state is State.BOTTOM else value
    method = cls.find(name)
    if method is not None:
        if method.is_property:
            return frame.engine.call_property(frame, owner, method, node)
        return Value(ranks.SAME, Kind.BOUND, (owner, name))
    for base in cls.library_bases():
        found = _library_attribute(frame, base, name, owner)
        if found is not None:
            if value is not None and found.wrapping is Wrapping.INSIDE:
                return gradient_sync.part(found).but(wrapping=Wrapping.BARE)  # the class assigns another one of its own
            return _remember(frame, cls, name, found, node)
    return frame.engine.class_variable(cls, name) or UNKNOWN


def _before_assignment(frame: Frame, cls: ClassInfo, name: str) -> Value:
    """What an attribute holds before the first assignment in sight: a data set may be made of itself."""
    rows = (frame.engine.library_attribute(base, name) for base in cls.library_bases())
    return next((row.value for row in rows if row is not None and datasets.is_dataset(row.value)), BOTTOM)


def _remember(frame: Frame, cls: ClassInfo, name: str, found: Value, node: cst.CSTNode) -> Value:
    """A metric store of a base out of sight: one container that all methods of the class share."""
    if found.kind is not Kind.CELLS:
        return found
    frame.write_attribute(cls, name, found)
    return found


def _library_attribute(frame: Frame, cls: str, name: str, owner: Value) -> Value | None:
    row = frame.engine.library_attribute(cls, name)
    if row is not None:
        value = row.value
        if value.rank.differs and value.why is None:
            why = frame.step(frame.statement, f"`.{name}` is this rank's own")
            return value.but(why=why, place=Device(value.place, why) if value.place else "")
        if value.kind is Kind.MODEL and value.wrapping is Wrapping.WRAPPED:
            return value.but(why=frame.step(frame.statement, f"`.{name}` is the wrapped model"))
        return value
    if library.store(cls, name, frame.engine.versions) is not None:
        return _opened_store(frame, owner, name)
    if frame.engine.library_method(cls, name) is not None:
        return Value(ranks.SAME, Kind.BOUND, (owner, name))
    return None


# The factory of a library's metric store: each of its entries is again such a container.
STORE = "<store>"


def _opened_store(frame: Frame, owner: Value, name: str) -> Value:
    """The container of metrics that a library's trainer keeps; how deep it is nested, its users show."""
    identity = frame.engine.store_identity(owner.data, name)
    frame.memory.heap.setdefault(identity, Cell("dict", factory=Value(ranks.SAME, Kind.MODULE, STORE)))
    return Value(ranks.SAME, Kind.CELLS, frozenset((identity,)))


def _of_class(frame: Frame, owner: Value, name: str) -> Value:
    cls = owner.data
    if isinstance(cls, ClassInfo):
        method = cls.find(name)
        if method is not None:
            return Value(ranks.SAME, Kind.FUNCTION, method)
        found = frame.engine.class_variable(cls, name)
        if found is not None:
            return found
    return Value(ranks.SAME)


def library_item(frame: Frame, container: Value, index: Value) -> Value:
    """`x[key]` of a library's object: the environment knows this rank and the world."""
    if container.data == ENVIRON:
        return environment(frame, index)
    if datasets.is_dataset(container) and index.kind is Kind.STRING:
        return container.but(data=DATASET.data) if container.rank.state is State.UNKNOWN else DATASET
    return SAME if container.rank.state is State.SAME else UNKNOWN


def environment(frame: Frame, name: Value) -> Value:
    """The value of an environment variable."""
    if name.const in RANK_VARIABLES:
        why = frame.step(frame.statement, f"`{name.const}` is this rank's own number")
        place = Device(GLOBAL_RANK, why) if name.const in GLOBAL_RANK_VARIABLES else ""
        return Value(ranks.RANK_LOCAL, Kind.STRING, why=why, place=place)
    if name.const in WORLD_VARIABLES:
        return Value(ranks.SAME, Kind.STRING, const=WORLD_SIZE)
    return SAME


# --- assignment -----------------------------------------------------------------------------------------


def assign_attribute(frame: Frame, owner: Value, target: cst.Attribute, value: Value) -> None:
    """`owner.name = value`."""
    frame.asks_for_engine |= library.names_engine(target.attr.value)  # `args.deepspeed = None` turns it off
    if owner.kind is Kind.INSTANCE and isinstance(owner.data, ClassInfo):
        frame.write_attribute(owner.data, target.attr.value, value.but(pending=frozenset()) if value.pending else value)
