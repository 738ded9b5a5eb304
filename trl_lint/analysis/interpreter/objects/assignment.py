"""Assignment to names, attributes, subscripts and patterns of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import libcst as cst

from trl_lint.analysis.interpreter.objects import (
    attributes,
    environment_variables,
    given_fields,
    model_outputs,
    present_on_some,
    spread_dicts,
    subscripts,
    trained_losses,
)
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.idioms.samplers import as_sharding
from trl_lint.analysis.program.syntax import assigned_once, assignments, nonlocal_names, of_class
from trl_lint.analysis.state import containers, own_dicts
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import drawn_splits
from trl_lint.analysis.transfer.tensors import gradient_cuts, tensors
from trl_lint.domain import ranks, shapes
from trl_lint.domain.constants import MISSING, WORLD_SIZE
from trl_lint.domain.derived import derived
from trl_lint.domain.heap import Cell, read_key, with_key
from trl_lint.domain.joins import any_of, join
from trl_lint.domain.kinds import (
    BatchRole,
    ContainerValue,
    NumberValue,
    SizesValue,
    TupleValue,
    in_role,
    library_name_of,
    role_of,
)
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.launcher_variables import ENVIRON
from trl_lint.knowledge.models import GENERATED_TOKENS


def bind_target(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    """Assign a value to a name, attribute, subscript or pattern."""
    if type(target) is cst.Name:
        value = as_sharding(frame.module, target.value, value)
        if target.value in frame.nonlocals:
            _assign_outside(frame, target.value, value)
        else:
            value = _if_bound_inside(frame, target.value, value)
            frame.memory.names[target.value] = trained_losses.as_loss(frame, target, value)
            given_fields.forget(frame, target.value)
    elif type(target) is cst.Attribute:
        receiver = present_on_some.used(frame, target.value, frame.engine.evaluate(frame, target.value))
        if isinstance(receiver, ContainerValue) or _is_output(receiver, target):
            _assign_part(frame, receiver, target, value)
        elif _is_memory_of(receiver, target):
            rebind(frame, target.value, value)
        else:
            attributes.assign_attribute(frame, receiver, target, as_sharding(frame.module, target.attr.value, value))
    elif type(target) is cst.Subscript:
        _assign_subscript(frame, target, value)
    elif type(target) is cst.Tuple or type(target) is cst.List:
        _unpack(frame, target, value)
    elif isinstance(target, cst.StarredElement):
        bind_target(frame, target.value, value)


def _is_output(value: Value, target: cst.Attribute) -> bool:
    """Whether an attribute is a part of a model's output: `outputs.loss`, and `generated.sequences`."""
    is_generated = value.kind is Kind.BATCH and target.attr.value == GENERATED_TOKENS
    return is_generated or role_of(value) is BatchRole.OUTPUT


def _if_bound_inside(frame: Frame, name: str, value: Value) -> Value:
    """A name that a handler rebinds, `nonlocal stop`, may no longer be the constant that it was, or None."""
    is_none = value.kind is Kind.NONE
    if (value.const is MISSING and not is_none) or b"nonlocal" not in frame.module.code:
        return value  # without looking at all of a file for an assignment at its top
    if name not in nonlocal_names(frame.root):
        return value
    return UNKNOWN if is_none else value.replace(const=MISSING)


def _assign_part(frame: Frame, output: Value, target: cst.Attribute, value: Value) -> None:
    """`outputs.loss = x` of a model's output, which becomes a dict with known entries."""
    if not isinstance(output, ContainerValue):
        if not isinstance(target.value, cst.Name):
            return
        output = as_dict(frame, output, target.value, target)
    weak = len(output.identities) > 1
    frame.update(output, lambda cell: _put(cell, target.attr.value, value, weak))


def _assign_outside(frame: Frame, name: str, value: Value) -> None:
    """Assign to a name of an enclosing function, or of the module, which other calls may also have assigned."""
    scope = frame.outer
    while scope is not None and name not in scope.memory.names:
        scope = scope.outer
    names = scope.memory.names if scope is not None else frame.engine.global_names(frame.module)
    known = names.get(name)
    if known is None or scope is not None or _is_count_of_processes(value, instead_of=known):
        names[name] = value
    else:
        names[name] = join(known, value)
    if scope is None and (name in frame.memory.names or _is_first_of_global(frame, name, value)):
        frame.memory.names[name] = value  # from here on, the function knows what it has assigned


def _is_count_of_processes(value: Value, instead_of: Value) -> bool:
    """Whether the start of the processes sets their number, which is what the module begins with on one of them."""
    known = instead_of.const
    is_placeholder = instead_of.kind is Kind.NONE or (type(known) is int and known <= 1)
    return value.const is WORLD_SIZE and is_placeholder


def _is_first_of_global(frame: Frame, name: str, value: Value) -> bool:
    """Whether a function assigns a number to a name of the module that no other function does, and will not skip it."""
    if value.kind is not Kind.NUMBER or not isinstance(frame.root, cst.FunctionDef):
        return False
    if not any(each is frame.statement for each in _lines_of(frame.root.body.body)):
        return False
    of_module = set(map(id, _lines_of(frame.module.tree.body)))
    lines = (each for each in of_class(frame.module.tree, cst.Global) if id(each) not in of_module)
    return sum(name == each.name.value for line in lines for each in line.names) == 1


def _lines_of(body: Iterable[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The simple statements of a body, without those in its blocks."""
    for each in body:
        yield from each.body if isinstance(each, cst.SimpleStatementLine) else (each,)


def _unpack(frame: Frame, target: cst.Tuple | cst.List, value: Value) -> None:
    elements = target.elements
    stars = [index for index, element in enumerate(elements) if isinstance(element, cst.StarredElement)]
    known = containers.positions_of(frame, value)
    for index, element in enumerate(elements):
        if isinstance(element, cst.StarredElement):
            starred = () if known is None else known[index : len(known) - len(elements) + index + 1]
            rest = any_of(starred) if starred else containers.iterate(frame, value)[0]
            bind_target(frame, element.value, frame.allocate(element, Cell("list", rest=rest)))
        elif known is not None and (not stars or index < stars[0]) and index < len(known):
            bind_target(frame, element.value, known[index])
        elif known is not None and stars and index > stars[0] and len(elements) - index <= len(known):
            bind_target(frame, element.value, known[index - len(elements)])
        elif isinstance(value, SizesValue) and (not stars or index < stars[0]):
            bind_target(frame, element.value, _size_at(frame, value, index, len(elements)))
        else:
            name = element.value
            is_learned = isinstance(name, cst.Name) and model_outputs.is_learned_scale(value, name.value)
            item = model_outputs.LEARNED if is_learned else _entry_of(frame, value)
            entries = {} if stars else model_outputs.entries_of_part(frame, value, index, len(elements), item)
            bind_target(frame, name, frame.allocate(element, Cell("dict", entries, item)) if entries else item)


def _entry_of(frame: Frame, value: Value) -> Value:
    item = containers.item_of(frame, value)
    for refine in frame.domains.unpacked:
        item = refine(frame, value, item)
    return item


def _size_at(frame: Frame, shape: SizesValue, index: int, dimensions: int) -> Value:
    """One size of a tensor with this number of dimensions: `batch, channels, height, width = images.shape`.

    Dimension 1 of a text holds its tokens, which differ as its rows do. Of later dimensions, and of all but the first
    of images, it is not known whether they differ.
    """
    position = NumberValue(ranks.SAME, const=index, scalar=True, dtype="int")
    size = tensors.dimension(shape, position)
    may_be_uniform = index > 0 and (dimensions > 3 or index > 1)
    if may_be_uniform and size.rank.differs:
        return size.replace(rank=ranks.UNKNOWN)
    for refine in frame.domains.size:
        size = refine(frame, shape, position, size)
    return size


def _assign_subscript(frame: Frame, target: cst.Subscript, value: Value) -> None:
    container = present_on_some.used(frame, target.value, frame.engine.evaluate(frame, target.value))
    index = subscripts.subscript_value(frame, target)
    container = own_dicts.as_filled(frame, spread_dicts.as_assigned(frame, container, index, target))
    if isinstance(container, ContainerValue):
        key = containers.constant_key(index)
        value = present_on_some.once_kept(frame, value, _assigned(frame, target))
        stored = frame.is_stored(container)
        is_dict = any(cell.shape == "dict" for cell in frame.memory.cells(container))
        if stored or is_dict:
            value = frame.written(value, containers.key_text(key), _assigned(frame, target))
        if stored:
            _write_elements(frame, value, containers.key_text(key))
        if index.const is MISSING and len(container.identities) == 1:
            key = MISSING
        if Origin.RANK in index.rank.origins and _are_gathered(frame, container):
            value = value.replace(rank=ranks.REDUCED, provenance=None)  # this rank's own part, which is there already
        is_view = isinstance(key, containers.ViewKey) and key.cells == container.identities
        weak = len(container.identities) > 1 and not is_view
        part = value
        frame.update(
            container, lambda cell: gradient_cuts.cell_with_part(_put(cell, key, part, weak, index.rank), part)
        )
    elif library_name_of(container) == ENVIRON:
        environment_variables.set_variable(frame, index, value)
    elif container.kind is Kind.BATCH and isinstance(index.const, str) and _is_kept(frame, target.value):
        key = containers.constant_key(index)
        promoted = as_dict(frame, container, target.value, target)
        value = frame.written(value, containers.key_text(key), _assigned(frame, target))
        frame.update(promoted, lambda cell: with_key(cell, key, value, index.rank))
    elif (splits := drawn_splits.assigned(frame, container, index.const, value, target)) is not None:
        rebind(frame, target.value, splits)
    elif container.kind in (Kind.TENSOR, Kind.BATCH, Kind.UNKNOWN, Kind.NUMBER_LIST):
        rebind(frame, target.value, _buffer(container, index, target, value))


def _buffer(container: Value, index: Value, target: cst.Subscript, value: Value) -> Value:
    """A buffer after a value has been assigned to a part of it: it holds what was assigned to any part."""
    merged = join(container, value) if container.kind is not Kind.UNKNOWN else UNKNOWN
    if container.kind is Kind.TENSOR:
        merged = _tensor_with_part(container, index, value, target)
    return merged if container.shape is None else merged.replace(shape=container.shape)


def _tensor_with_part(tensor: Value, index: Value, value: Value, target: cst.Subscript) -> Value:
    """A tensor after a part of it was assigned, which is copied to its device."""
    if value.kind is Kind.TENSOR and _is_whole(target):
        return value.replace(dtype=tensor.dtype, device=tensor.device)
    rank = ranks.nonlinear(ranks.combine(tensor.rank, ranks.combine(value.rank, index.rank)))
    merged = derived(rank, Kind.TENSOR, tensor, value, index, dtype=tensor.dtype, device=tensor.device)
    if Origin.RANK in index.rank.origins and tensor.rank.is_reduced:  # the own part of what was gathered
        merged = merged.replace(rank=ranks.REDUCED, provenance=None)
    return merged.replace(gradient=gradient_cuts.with_part(tensor, value))


def _is_kept(frame: Frame, target: cst.CSTNode) -> bool:
    """Whether a dict can take the place of a variable's value: of a name, or of a part of a result that all ranks have.

    output.metrics["rows"] = rows
    self.state["round"] = 0          also of an object's attribute, here with a model's outputs
    """
    if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
        return isinstance(target, cst.Name)
    owner = frame.engine.evaluate(frame, target.value)
    is_result = owner.kind in (Kind.BATCH, Kind.CONTAINER) and owner.rank == ranks.SAME
    return is_result or isinstance(owner, ProjectInstance)


def _is_whole(target: cst.Subscript) -> bool:
    """Whether all elements are assigned: `x[:] = total`, `x[...] = total`."""
    parts = [each.slice for each in target.slice]
    match parts:
        case [cst.Slice(lower=None, upper=None, step=None)] | [cst.Index(value=cst.Ellipsis())]:
            return True
    return False


def _are_gathered(frame: Frame, container: ContainerValue) -> bool:
    """Whether a list holds what a collective has put there: `gathered[rank] = own` keeps the gradient of one's own."""
    parts = [each for cell in frame.memory.cells(container) for each in (*cell.entries.values(), cell.rest) if each]
    return bool(parts) and all(each.rank.is_reduced for each in parts)


def _assigned(frame: Frame, target: cst.CSTNode) -> cst.BaseExpression | None:
    """The expression that the current statement assigns to this target itself; None if it is unpacked."""
    statement = frame.statement
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=only)]) | cst.AnnAssign(target=only) if only is target:
            return statement.value
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=all_of))], value=cst.Tuple(elements=given)):
            pairs = zip(all_of, given, strict=False) if len(all_of) == len(given) else ()
            return next((value.value for each, value in pairs if each.value is target), None)
    return None


# Parts of a model's output that are known by their names.
_OF_OUTPUTS = ("loss", "logits")


def as_dict(frame: Frame, batch: Value, target: cst.CSTNode, node: cst.CSTNode) -> ContainerValue:
    """Replace a batch, or a dict of metrics, that is about to get more entries by a dict with known entries."""
    shape = shapes.of_fields(batch.shape)
    element = in_role(derived(batch.rank, Kind.BATCH, batch, shape=shape), BatchRole.FIELD)
    known = _OF_OUTPUTS if role_of(batch) is BatchRole.OUTPUT else ()
    entries: dict[Hashable, Value] = {name: attributes.read(frame, batch, name, node) for name in known}
    promoted = frame.allocate(node, Cell("dict", entries, rest=element))
    sources = [value for bound, value in assignments(frame.root) if bound.deep_equals(target)]
    if len(sources) == 1 and isinstance(sources[0], cst.Attribute) and _is_kept(frame, sources[0]):
        rebind(frame, sources[0], promoted)  # `metrics = output.metrics`
    rebind(frame, target, promoted)
    return promoted


def _write_elements(frame: Frame, value: Value, what: str) -> None:
    """Mark the items of a list as written to the store by this statement: `self._metrics[mode][key] = [v]`."""

    def mark(cell: Cell) -> Cell:
        entries = {key: frame.written(item, what, _listed(frame, key)) for key, item in cell.entries.items()}
        rest = None if cell.rest is None else frame.written(cell.rest, what)
        return cell.holding(entries, rest)

    frame.update(value, mark)


def _listed(frame: Frame, index: Hashable) -> cst.BaseExpression | None:
    """The element at a position of the list display that the current statement assigns."""
    listed = getattr(frame.statement, "value", None)
    if isinstance(listed, cst.List) and isinstance(index, int) and index < len(listed.elements):
        return listed.elements[index].value
    return None


def put_entry(frame: Frame, container: ContainerValue, key: Hashable, value: Value) -> None:
    """Give an entry a new value after an in-place change."""
    frame.update(container, lambda cell: _put(cell, key, value, len(container.identities) > 1))


def _put(cell: Cell, key: Hashable, value: Value, weak: bool, naming: ranks.Rank = ranks.SAME) -> Cell:
    if weak:
        old = read_key(cell, key)
        # What others of the dicts hold under names that are not known is not taken for an entry of this name.
        is_new = isinstance(key, str) and key not in cell.entries and value.rank.state is State.SAME
        value = value if old is None or is_new else join(old, value)
    return with_key(cell, key, value, naming)


def _is_memory_of(tensor: Value, target: cst.Attribute) -> bool:
    """Whether an attribute is the memory of a tensor: `loss.data`."""
    return _may_be_tensor(tensor) and target.attr.value == "data"


def _may_be_tensor(value: Value) -> bool:
    return value.kind is Kind.TENSOR or (value.kind in (Kind.BATCH, Kind.UNKNOWN) and value.rank.differs)


def rebind(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    """Give the variable behind an expression a new value after an in-place change."""
    if isinstance(target, cst.Name):
        if target.value in frame.memory.names:
            frame.memory.names[target.value] = value
    elif isinstance(target, cst.Attribute):
        receiver = frame.engine.evaluate(frame, target.value)
        if receiver.kind is Kind.INSTANCE:
            attributes.assign_attribute(frame, receiver, target, value)
        elif _is_memory_of(receiver, target):
            rebind(frame, target.value, value)
        elif isinstance(value, ContainerValue) and _is_kept(frame, target):
            _assign_part(frame, receiver, target, value)
    elif isinstance(target, cst.Tuple) and isinstance(value, TupleValue):
        for element, item in zip(target.elements, value.items, strict=False):
            rebind(frame, element.value, item)
    elif isinstance(target, cst.Subscript):
        container = frame.engine.evaluate(frame, target.value)
        if isinstance(container, ContainerValue):
            key = containers.constant_key(subscripts.subscript_value(frame, target))
            put_entry(frame, container, key, value)
        elif container.kind in (Kind.TENSOR, Kind.BATCH):
            rebind(frame, target.value, _with_part(container, value))
    else:
        _rebind_viewed(frame, target, value)


def _with_part(tensor: Value, value: Value) -> Value:
    """A tensor of which a part has a new value: if ranks agree on that, it is not known whether they do on the rest."""
    merged = join(tensor, value)
    is_agreed = tensor.kind is Kind.TENSOR and merged.rank.differs and value.rank.is_reduced
    return merged.replace(rank=ranks.AGREED, provenance=None) if is_agreed else merged


def _rebind_viewed(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    """Give the variable of a tensor a new value where another view of its memory has changed: `x.detach()`."""
    viewed = viewed_by(target)
    known = None if viewed is None else frame.engine.evaluate(frame, viewed)
    if viewed is not None and known is not None and _may_be_tensor(known):
        rebind(frame, viewed, value.replace(shape=known.shape, grad=known.grad))


def viewed_by(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The `x` of a method that returns a view of it, or itself: `x.detach()`, `x.div_(2)`; None for anything else."""
    match node:
        case cst.Call(func=cst.Attribute(value=viewed, attr=cst.Name(name))):
            row = torch_ops.of_method(name)
            return viewed if row.shares or row.in_place is not None else None
    return None


def rebind_aliases(frame: Frame, name: str, before: Value, value: Value) -> None:
    """Give a tensor a new value that has changed in place under another name: `flat = loss.view(-1)`.

    name: that name. before: its value before the change. Nothing is done if either name has got another value since.
    """
    assigned = assigned_once(frame.root, name) if _may_be_tensor(before) and before.rank.differs else None
    aliased: cst.CSTNode | None = assigned
    while aliased is not None and (viewed := viewed_by(aliased)) is not None:
        aliased = viewed
    if not isinstance(aliased, cst.Name) or aliased.value == name:
        return
    known = frame.memory.names.get(aliased.value)
    if known is not None and _may_be_tensor(known) and frame.known_value(aliased) is known:
        rebind(frame, aliased, value.replace(shape=known.shape, grad=known.grad))
