"""Methods of lists, dicts and sets on the abstract heap."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import libcst as cst

from trl_lint.analysis.interpreter.objects import present_on_some, subscripts
from trl_lint.analysis.program import syntax
from trl_lint.analysis.program.idioms.equal_appends import is_appended_alike, is_made_by, is_made_there
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import own_totals
from trl_lint.analysis.transfer.data.own_shares import is_turn
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.heap import Cell, with_key
from trl_lint.domain.joins import join, with_element
from trl_lint.domain.kinds import NONE, ContainerValue, IterableValue, NumberValue, StringValue, TupleValue
from trl_lint.domain.sync_points import place_of, without_awaited
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value


def call(frame: Frame, receiver: ContainerValue, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """The value of `container.name(...)`, after its effect on the container."""
    handler = METHODS.get(name)
    return UNKNOWN if handler is None else handler(frame, receiver, args, node)


def _append(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    """`append`, `add`, `insert`, `appendleft`: one more element."""
    if not args.positional:
        return NONE
    value = present_on_some.once_kept(frame, args.positional[-1], args.expression(-1))
    value = own_totals.added_in(frame, args.expression(-1), value)
    length = _division(frame, node)
    stored = frame.is_stored(receiver)
    if stored:
        value = frame.written(value, _name_of(frame, receiver), args.expression(-1))
    weak = len(receiver.identities) > 1
    at_end = len(args.positional) == 1 and "appendleft" not in _called(node)

    def change(cell: Cell) -> Cell:
        longer = _stored_length(cell, length) if stored else cell.longer_by(length)
        if (
            at_end
            and cell.rest is None
            and not weak
            and len(cell.entries) < 16
            and cell.shape == "list"
            and all(each.of_items for each in frame.loops)
        ):
            return Cell("list", {**cell.entries, len(cell.entries): value}, None, cell.factory, longer)
        rest = with_element(cell.element(), value)
        return Cell(cell.shape, rest=rest, factory=cell.factory, length=longer)

    frame.update(receiver, change)
    return NONE


def _stored_length(cell: Cell, more: ranks.Rank) -> ranks.Rank:
    """The fact of the length of a list on an object after an element was added, by some ranks or by all.

    Other methods may read the list before the branch ends. Whether they add to it before this one is not known.
    """
    is_held = cell.length.how == ranks.HELD
    if more.is_by_rank and (cell.is_bare or is_held):
        return ranks.HELD_BY_RANK
    return ranks.UNKNOWN if is_held else cell.longer_by(ranks.SAME)


def _called(node: cst.CSTNode) -> str:
    return node.func.attr.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else ""


def _division(frame: Frame, node: cst.CSTNode) -> ranks.Rank:
    """Whether all ranks add an element here; in a loop over the samples of a batch, one per sample."""
    control = without_awaited(frame.memory.control, frame.sync_points)
    differing = (each for each in control.conditions if each.rank.differs)
    tests = ((each, place_of(each)) for each in differing)
    alike = {id(each.provenance) for each, test in tests if test and _is_alike(frame, test, node)}
    alike.update(id(each.provenance) for each in control.conditions if each.rank == ranks.SETTING)
    if alike:
        control = control.without_conditions(frozenset(alike))
    differs = [each for each in control.conditions if each.rank.differs]
    if differs and all(each.rank.how in ("count", ranks.DEALT) for each in differs):
        return differs[0].rank
    rank = ranks.nonlinear(control.rank)
    return _of_tests(frame, rank, [place_of(each) for each in differs]) if rank.is_by_rank else rank


def _is_alike(frame: Frame, test: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether all ranks that have a list add as many elements, whatever a test decides.

    Those of callers are alike to a list that is made here. Which they are must not matter: others share the run.
    """
    if frame.function is not None and not syntax.ancestors(frame.root, test):
        return is_made_by(frame.root, node)
    return is_appended_alike(frame.root, test, node) or is_made_there(frame.root, test, node)


def _of_tests(frame: Frame, rank: ranks.Rank, tests: Sequence[cst.CSTNode | None]) -> ranks.Rank:
    """Which ranks add an element where tests of the rank decide that: each in its turn, or none but some."""
    if any(test is not None and is_turn(frame, test) for test in tests):
        return rank._replace(origins=rank.origins | ranks.Origin.DATA)
    return ranks.HELD_BY_RANK if all(_is_of_branch(frame, test) for test in tests) else rank


def _is_of_branch(frame: Frame, test: cst.CSTNode | None) -> bool:
    """Whether it is the condition of an `if` in this function, or a part of one, and no loop of a rank's own length."""
    around = () if test is None else syntax.ancestors(frame.root, test)
    outside = (each for each in reversed(around) if not isinstance(each, (cst.BooleanOperation, cst.UnaryOperation)))
    return isinstance(next(outside, None), cst.If)


def _name_of(frame: Frame, receiver: ContainerValue) -> str:
    """The key under which a store holds a list of values, if it is known."""
    for identity in receiver.identities:
        for other, cell in frame.memory.heap.items():
            if other in frame.objects.class_cells:
                for key, value in cell.entries.items():
                    if identity in value.identities and isinstance(key, str):
                        return key.replace("\0", "…")
    return ""


def _extend(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    if not args.positional:
        return NONE
    element, length = containers.iterate(frame, args.positional[0])
    if frame.is_stored(receiver):
        element = frame.written(element, _name_of(frame, receiver), syntax.only_element(args.expression(0)))
    division = _division(frame, node)
    grown = ranks.join_lengths(length, division)
    is_held = division.is_by_rank and frame.is_stored(receiver)

    def change(cell: Cell) -> Cell:
        longer = _stored_length(cell, division) if is_held else cell.longer_by(grown)
        return Cell(cell.shape, rest=with_element(cell.element(), element), length=longer)

    frame.update(receiver, change)
    return NONE


def _update(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    if {cell.shape for cell in frame.memory.cells(receiver)} == {"set"} and len(args.positional) == 1:
        return _extend(frame, receiver, args, node)  # a set has no keys, and may be filled by some ranks only
    stored = frame.is_stored(receiver)
    for other in args.positional:
        frame.update(receiver, partial(_merged, frame, other))
    for key, value in args.keywords.items():
        kept = frame.written(value, key, args.expression(key)) if stored or value.rank.differs else value
        frame.update(receiver, partial(_with_entry, key, kept))
    if args.double is not None:
        double = args.double
        frame.update(receiver, lambda cell: with_key(cell, MISSING, double))
    return NONE


def _merged(frame: Frame, other: Value, cell: Cell) -> Cell:
    return containers.merged_into(frame, cell, other)


def _with_entry(key: str, value: Value, cell: Cell) -> Cell:
    return with_key(cell, key, value)


def _get(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    asked = args.positional[0] if args.positional else UNKNOWN
    key = containers.constant_key(asked)
    result: Value = BOTTOM
    for cell in frame.memory.cells(receiver):
        entry = subscripts.entry_of(cell, asked)
        if entry is not None:
            result = join(result, entry)
    frame.consume(receiver)
    default = args.positional[1] if len(args.positional) > 1 else NONE
    if result is BOTTOM:
        # Of a container from elsewhere, such as a class variable that methods change, nothing is known.
        return default if len(args.positional) > 1 and frame.memory.cells(receiver) else UNKNOWN
    if key is MISSING and args.positional and _is_open(frame, receiver, args.positional[0], result, node):
        result = result.replace(rank=ranks.UNKNOWN)
    found = join(subscripts.by_name(frame, receiver, key, result), default)
    return subscripts.chosen_by(args.positional[0], found) if args.positional else found


def _is_open(frame: Frame, receiver: ContainerValue, key: Value, result: Value, node: cst.CSTNode) -> bool:
    """Whether it is unknown which entry of a dict a key reads, and thereby whether all ranks read the same."""
    is_of_some = subscripts.is_of_some_entry(frame, receiver, key)
    return is_of_some or subscripts.is_of_any_entry(frame, key, result, node)


def _pop(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    is_of_some = present_on_some.note_removal(frame, receiver)
    if any(cell.shape == "list" for cell in frame.memory.cells(receiver)):
        frame.consume(receiver)
        result: Value = BOTTOM
        for cell in frame.memory.cells(receiver):
            result = join(result, cell.element())
        frame.update(receiver, _shorter)
        return result.as_present()
    result = _get(frame, receiver, args, node)
    key = containers.constant_key(args.positional[0]) if args.positional else MISSING
    if key is not MISSING and len(receiver.identities) == 1 and not is_of_some:
        frame.update(receiver, lambda cell: _without(cell, key))
    return result


def _shorter(cell: Cell) -> Cell:
    if cell.length != ranks.PER_RANK:
        return cell
    return Cell(cell.shape, cell.entries, cell.rest, cell.factory, naming=cell.naming)


def _without(cell: Cell, key: Hashable) -> Cell:
    entries = {name: value for name, value in cell.entries.items() if name != key}
    return cell.holding(entries, cell.rest)


def _clear(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    if len(receiver.identities) == 1:
        frame.update(receiver, lambda cell: Cell(cell.shape, factory=cell.factory))
    return NONE


def _setdefault(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    key = containers.constant_key(args.positional[0]) if args.positional else MISSING
    default = args.positional[1] if len(args.positional) > 1 else NONE
    result: Value = BOTTOM
    for identity in receiver.identities:
        cell = frame.memory.heap.get(identity)
        if cell is None:
            continue
        found = containers.entry_at(cell, key)
        if found is None:
            found = default
            frame.memory.heap[identity] = with_key(cell, key, default, args.positional[0].rank)
            if identity in frame.objects.class_cells:
                frame.touch(identity)
                for inner in default.identities:
                    frame.objects.class_cells[inner] = frame.objects.class_cells[identity]
                    frame.touch(inner)
        result = join(result, found)
    return UNKNOWN if result is BOTTOM else result


def _view(form: str) -> Callable[[Frame, ContainerValue, Arguments, cst.CSTNode], Value]:
    """`items()`, `values()` or `keys()`: an iterable that refers to its container."""

    def view(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
        frame.consume(receiver)
        element: Value = BOTTOM
        length = ranks.SAME
        for cell in frame.memory.cells(receiver):
            element = join(element, cell.element())
            length = ranks.join(length, cell.length)
        key = StringValue(containers.naming(frame, receiver))
        shapes = {"items": TupleValue(ranks.SAME, (key, element)), "values": element, "keys": key}
        return IterableValue(ranks.SAME, shapes[form], length, (receiver, form))

    return view


def _copy(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    cells = frame.memory.cells(receiver)
    if len(cells) != 1:
        return receiver
    return frame.allocate(node, cells[0])


def _count(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    """`index`, `count`: which of the elements equals the argument, or how many."""
    frame.consume(receiver)
    element, length = containers.iterate(frame, receiver)
    sought = args.positional[:1]
    rank = ranks.nonlinear(ranks.combine_all([element.rank, length, *(each.rank for each in sought)]))
    provenance = next((each.provenance for each in (element, *sought) if each.rank.differs), None)
    return NumberValue(rank, scalar=True, dtype="int", provenance=provenance)


def _remove(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    """`remove(None)`: whoever takes None out of a container once takes out all that some ranks have in it."""
    frame.update(receiver, _shorter)
    if not present_on_some.note_removal(frame, receiver) and args.positional and args.positional[0].kind is Kind.NONE:
        frame.update(receiver, lambda cell: cell.changed(Value.as_present))
    return NONE


def _nothing(frame: Frame, receiver: ContainerValue, args: Arguments, node: cst.CSTNode) -> Value:
    return NONE


METHODS: dict[str, Callable[[Frame, ContainerValue, Arguments, cst.CSTNode], Value]] = {
    "add": _append,
    "append": _append,
    "appendleft": _append,
    "clear": _clear,
    "copy": _copy,
    "count": _count,
    "discard": _remove,
    "extend": _extend,
    "get": _get,
    "index": _count,
    "insert": _append,
    "items": _view("items"),
    "keys": _view("keys"),
    "pop": _pop,
    "popitem": _pop,
    "popleft": _pop,
    "remove": _remove,
    "reverse": _nothing,
    "setdefault": _setdefault,
    "sort": _nothing,
    "update": _update,
    "values": _view("values"),
}
