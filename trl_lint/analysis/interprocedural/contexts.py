"""The contexts in which a function is analysed: one per facts of its arguments, and shared ones beyond a limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.transfer.processes import first_rank
from trl_lint.domain.constants import MISSING, GivenNumber, World
from trl_lint.domain.control import UNIFORM, Control, Modes
from trl_lint.domain.equality import Frozen, freeze, same_contents, same_facts
from trl_lint.domain.heap import REST, Cell, Memory, join_cells
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import ContainerValue, Identity, IterableValue, TupleValue
from trl_lint.domain.ranks import State
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value
from trl_lint.knowledge.python import ENVIRONMENT

# How many contexts one function has before they are joined, per class of the object and place where it is made.
MAX_CONTEXTS = 8
# The same for a function that reads environment variables by name, as some of these hold the rank, and for a short one.
MAX_NAMED = 40
# The number of further contexts whose arguments differ in more than constants.
MAX_PLAIN = 4
# The depth to which nested containers are distinguished where calls are joined.
MAX_DEPTH = 4
# The maximum number of containers that the joined arguments reach: each counts once per access path.
MAX_CONTAINERS = 500
# How often the joined facts may grow; arguments that still grow after that are unknown.
MAX_GROWTH = 6
# The maximum number of contexts of a function for calls beyond the limit, per class of the object.
MAX_JOINED = 6
# The most statements of a function that is short, and the most containers that it is passed.
SHORT = 3
FEW = 2


def is_told_apart_by_constants(function: FunctionInfo, inputs: Sequence[Identity]) -> bool:
    """Whether a function may do something else for another constant, and costs little to run again for these inputs.

    It reads environment variables, some of which hold the rank, or is as short as a method that stores one metric:
    `self.metrics[name] = value`.
    """
    if any(each.value in ENVIRONMENT for each in of_class(function.node, cst.Name)):
        return True
    if len(inputs) > FEW:
        return False
    is_long = len(list(islice(of_class(function.node, cst.SimpleStatementLine), SHORT + 1))) > SHORT
    return not is_long and next(iter(of_class(function.node, cst.For)), None) is None


def has_many_contexts(function: FunctionInfo, cls: ClassInfo | None, inputs: Sequence[Identity]) -> bool:
    """Whether a function has the maximum number of contexts on a class that are kept apart with all facts."""
    if len(function.summaries) < MAX_CONTEXTS:
        return False
    count = function.count_runs_on(cls)
    if count < MAX_CONTEXTS:
        return False
    return count >= MAX_NAMED or not is_told_apart_by_constants(function, inputs)


class CalledWith(NamedTuple):
    """The input of an analysis of a function. inputs: the containers that its arguments reach. caller: its state."""

    key: tuple[Hashable, ...]
    names: dict[str, Value]
    inputs: list[Identity]
    cls: ClassInfo | None
    caller: Memory

    def copied(self) -> CalledWith:
        """A copy that later changes of the caller's state do not affect."""
        caller = Memory(dict(self.names), dict(self.caller.heap), self.caller.attributes, self.caller.control)
        return self._replace(names=dict(self.names), inputs=list(self.inputs), caller=caller)


@dataclass
class Context:
    """A context of a function: its arguments, with the containers that they reach (inputs) as they are in `memory`.

    passed: the caller's own arguments and heap. represented: for the joined context, which has containers of its own as
    inputs, the caller's containers by the one that represents them.
    """

    key: tuple[Hashable, ...]
    names: dict[str, Value]
    memory: Memory
    inputs: list[Identity]
    passed: tuple[Mapping[str, Value], Mapping[Identity, Cell]]
    represented: Mapping[Identity, tuple[Identity, ...]] = field(default_factory=dict)
    joined: bool = False

    def targets(self, inputs: Sequence[Identity]) -> dict[Identity, tuple[Identity, ...]]:
        """The caller's containers by those (inputs) of the run that is the summary for this context."""
        if self.joined:
            return {identity: tuple(dict.fromkeys(theirs)) for identity, theirs in self.represented.items()}
        return {mine: (theirs,) for mine, theirs in zip(inputs, self.inputs, strict=False)}


def key_of(memory: Memory, function: FunctionInfo, names: Mapping[str, Value], cls: ClassInfo | None) -> Any:
    """The key that distinguishes one context of a function from another."""
    heap, control = memory.heap, memory.control
    frozen: Frozen = {}
    parts = [(name, freeze(value, heap, frozen=frozen)) for name, value in names.items()]
    if function.pending_used:
        parts.append(("", tuple(sorted(hash(write) for value in names.values() for write in value.pending))))
    return (
        id(function.node),
        id(cls),
        control.uniformity,
        control.engine,
        *modes_for(names, control),
        first_rank.first_rank_key(control),
        tuple(parts),
    )


def unchanged_inputs(
    inputs: Iterable[Identity], before: Mapping[Identity, Cell], after: Mapping[Identity, Cell]
) -> frozenset[Identity]:
    """The containers that a function was passed and has not written to.

    They stay the caller's own: the same facts of another call would be another value. After `if is_main_process:
    total(parts)` it would be one of two, so that ranks differ.
    """
    return frozenset(each for each in inputs if each in before and after.get(each) is before[each])


def modes_for(names: Mapping[str, Value], control: Control) -> Modes:
    """The modes in which a function runs. Gradients matter only to one that is passed a model or an object."""
    if any(value.kind in (Kind.INSTANCE, Kind.MODEL) for value in names.values()):
        return control.modes
    return UNIFORM.at_pace(control.pace).once_others_failed(control.others_failed).modes


# --- without constants ----------------------------------------------------------------------------------


def without_constants(
    names: Mapping[str, Value], inputs: list[Identity], memory: Memory
) -> tuple[dict[str, Value], Memory]:
    """The arguments of a function with many contexts, without constants and dtypes."""
    heap = dict(memory.heap)
    for identity in inputs:
        cell = heap.get(identity)
        if cell is not None:
            entries = {key: _without_details(value) for key, value in cell.entries.items()}
            rest = None if cell.rest is None else _without_details(cell.rest)
            heap[identity] = cell.holding(entries, rest)
    plain = {name: _without_details(value) for name, value in names.items()}
    return plain, Memory(memory.names, heap, memory.attributes, memory.control)


def _without_details(value: Value) -> Value:
    """A value reduced to rank and kind; None, switches, given numbers and constants of the world size are kept."""
    if value.kind in _UNCHANGED_KINDS or isinstance(value.const, (bool, GivenNumber, World)):
        return value
    if value.const is MISSING and not value.scalar and not value.dtype and value.shape is None and not value.device:
        return value
    return value.replace(const=MISSING, scalar=False, dtype="", shape=None, device="")


_UNCHANGED_KINDS = frozenset({Kind.INSTANCE, Kind.MODEL, Kind.NONE})


# --- joined ---------------------------------------------------------------------------------------------


def joined_for(
    function: FunctionInfo,
    names: Mapping[str, Value],
    memory: Memory,
    cls: ClassInfo | None,
    fresh: Callable[[], Identity],
) -> Joined:
    """The context that a call beyond the limit shares with those whose arguments have the same kinds and rank states.

    Switches keep contexts apart: code that one call turns off must not be analysed with the arguments of another that
    turns it on. Once the maximum number is reached, only what is known of the ranks of all arguments together
    distinguishes contexts: so a call of which nothing is known does not hide what is known of a call whose arguments
    are the same on all ranks, or are known to differ. Nor does a call with this rank's clock hide one with its data.
    """
    heap = memory.heap
    switches = tuple((name, value.const) for name, value in names.items() if isinstance(value.const, bool))
    kinds = tuple((name, value.kind, _states(value, heap, 2)) for name, value in names.items())
    differ_by = frozenset(value.rank.origins for value in names.values())
    shared_key: tuple[Hashable, ...] = (id(cls), kinds, differ_by, switches)
    if shared_key not in function.joined and sum(key[0] == id(cls) for key in function.joined) >= MAX_JOINED:
        shared_key = (id(cls), _joined_states(states for _, _, states in kinds), differ_by, switches)
    shared: Joined = function.joined.setdefault(shared_key, Joined((id(function.node), *shared_key), fresh))
    return shared


def _states(value: Value, heap: Mapping[Identity, Cell], depth: int) -> frozenset[State]:
    """The rank states of a value, or of the contents of the containers that it is."""
    if isinstance(value, TupleValue):
        inside: Iterable[Value] = value.items
    elif isinstance(value, ContainerValue):
        inside = (item for identity in value.identities if identity in heap for item in heap[identity].values())
    else:
        return frozenset((value.rank.state,))
    return frozenset().union(*(_states(item, heap, depth - 1) for item in inside)) if depth else frozenset()


def _joined_states(states: Iterable[frozenset[State]]) -> State:
    """What is known of all arguments together: they are the same, some of them differ, or something is unknown."""
    found = frozenset().union(*states)
    if State.UNKNOWN in found:
        return State.UNKNOWN
    return State.LOCAL if any(state > State.UNKNOWN for state in found) else State.SAME


class Joined:
    """One context for many calls of a function, with their facts joined.

    names: the arguments. heap: the containers that they reach. One container represents those of all calls that have
    the same access path (parameter, position and key), so that the facts reach a fixpoint whichever calls come. growth:
    how often they have grown.
    """

    def __init__(self, key: tuple[Hashable, ...], fresh: Callable[[], Identity]) -> None:
        self._key = key
        self.names: dict[str, Value] = {}
        self.heap: dict[Identity, Cell] = {}
        self.control: Control | None = None
        self._fresh = fresh
        self._identities: dict[tuple[Hashable, ...], Identity] = {}
        self.growth = 0

    @property
    def key(self) -> tuple[Hashable, ...]:
        """The key of its run, which changes when the facts have grown."""
        return (*self._key, self.growth)

    def join_call(self, names: Mapping[str, Value], memory: Memory) -> dict[Identity, tuple[Identity, ...]]:
        """Join a call. Return the caller's containers by the one that represents them."""
        represented: dict[Identity, tuple[Identity, ...]] = {}
        is_first = self.control is None
        grown = self._join_control(memory.control)
        # What is known of a field of an argument is unknown of that of another call.
        fields = {name: UNKNOWN for name in self.names if name not in names}
        for name, value in {**names, **fields}.items():
            known = self.names.get(name, BOTTOM if is_first or "." not in name else UNKNOWN)
            if known is UNKNOWN:
                continue
            before = dict(self.heap)
            joined = join(known, self._translated(value, (name,), memory.heap, represented))
            settled = all(key in before and same_contents(cell, before[key]) for key, cell in self.heap.items())
            if settled and same_facts(joined, known):
                self.heap = before
                continue
            grown = True
            self.names[name] = UNKNOWN if self.growth > MAX_GROWTH and value.kind is not Kind.INSTANCE else joined
        self.growth += grown
        return represented

    def _join_control(self, control: Control) -> bool:
        """Join the control of the call sites: the least certain, with what any says of wrappers and first ranks."""
        known = self.control
        if known is None:
            self.control = control
            return False
        worst = control if control.uniformity > known.uniformity else known
        merged = replace(
            worst,
            engine=known.engine or control.engine,
            grad=known.grad and control.grad,
            parameters_gathered=known.parameters_gathered or control.parameters_gathered,
            pace=max(known.pace, control.pace),
            others_failed=known.others_failed and control.others_failed,
            first_rank=known.first_rank or control.first_rank,
        )
        if _facts_of(merged) == _facts_of(known):
            return False
        self.control = merged
        return True

    def _translated(
        self,
        value: Value,
        path: tuple[Hashable, ...],
        heap: Mapping[Identity, Cell],
        represented: dict[Identity, tuple[Identity, ...]],
    ) -> Value:
        """An argument, with the containers of this context instead of the caller's."""
        there = heap, represented
        if isinstance(value, TupleValue):
            items = (self._translated(item, (*path, index), *there) for index, item in enumerate(value.items))
            return value.with_parts(tuple(items))
        if isinstance(value, IterableValue):
            return value.with_parts(self._translated(value.element, (*path, REST), *there), value.length, None)
        if not isinstance(value, ContainerValue):
            return value
        if len(path) > MAX_DEPTH:
            return UNKNOWN
        identity = self._identities.get(path)
        if identity is None:
            if len(self._identities) >= MAX_CONTAINERS:
                return UNKNOWN
            identity = self._identities[path] = self._fresh()
        before = represented.get(identity, ())
        # Values that hold each other lead here in many ways, twice as many at each level.
        new = value.identities.difference(before)
        represented[identity] = (*before, *new)
        for each in new:
            cell = heap.get(each)
            if cell is not None:
                entries = {key: self._translated(item, (*path, key), *there) for key, item in cell.entries.items()}
                rest = None if cell.rest is None else self._translated(cell.rest, (*path, REST), *there)
                moved = cell.holding(entries, rest)
                known = self.heap.get(identity)
                self.heap[identity] = moved if known is None else _joined_cells(known, moved)
        return value.with_parts(frozenset((identity,)))


def _joined_cells(a: Cell, b: Cell) -> Cell:
    """The join of the containers of two calls: what is unknown in one hides what is known in the other.

    It would not in a single container that holds both (see `join_elements`).
    """
    joined = join_cells(a, b)
    if a.shape != b.shape or (a.shape == "list" and len(a.entries) != len(b.entries)):
        rest: Value | None = join(a.element(), b.element())
    else:
        rest = joined.rest if a.rest is None or b.rest is None else join(a.rest, b.rest)
    return joined.holding(joined.entries, rest)


def _facts_of(control: Control) -> tuple[Hashable, ...]:
    return control.uniformity, control.engine, *control.modes, control.first_rank
