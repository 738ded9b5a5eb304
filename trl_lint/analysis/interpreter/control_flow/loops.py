"""Loops: the body is run until the facts at its head settle, or once per item of a container in sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

import libcst as cst

from trl_lint.analysis.events import DividedBy
from trl_lint.analysis.interpreter.conditions.conditions import divides, narrow, truth
from trl_lint.analysis.interpreter.control_flow import write_only_names
from trl_lint.analysis.interpreter.control_flow.branches import otherwise, run_body
from trl_lint.analysis.interpreter.control_flow.training_loops import trained_on
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.interpreter.objects import aliases
from trl_lint.analysis.interpreter.objects.assignment import bind_target
from trl_lint.analysis.program.syntax import names_in, of_class
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame, Loop
from trl_lint.analysis.state.observing import Branch
from trl_lint.analysis.transfer.models.wrapped_models import frozen_by
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.control import Control
from trl_lint.domain.derived import derived
from trl_lint.domain.equality import alike, alike_cells
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import Identity, TupleValue
from trl_lint.domain.provenance import Evaluated
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.sync_points import all_meet
from trl_lint.domain.values import BOTTOM, Kind, Value, Wrapping
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS
from trl_lint.knowledge.torch import STEPS_OF_TRAINING, WITHOUT_GRADIENTS

# A loop's facts only climb the lattice, so it settles soon; this bound is for the pathological.
_ROUNDS = 5


def run_for(frame: Frame, node: cst.For) -> bool:
    iterable = containers.as_view(frame, evaluate(frame, node.iter), node.iter)
    entries = containers.items_of(frame, iterable) or containers.told_apart(frame, iterable)
    entries = entries or aliases.each_by_itself(frame, node, iterable)
    if entries is not None and frame.may_unroll(len(entries)):
        unrolled = frame.unrolled
        frame.unrolled *= len(entries)
        through = _each_entry(frame, node, iterable, entries)
        frame.unrolled = unrolled
        return through
    element, length = containers.iterate(frame, iterable)
    if element.rank.state is State.BOTTOM:
        element = BOTTOM
    element = trained_on(frame, node, element)
    if length.differs and element.rank.differs and element.provenance is None:
        element = element.replace(provenance=frame.step(node, "this rank's own data"))
    if _evaluates(frame, node):
        element = _evaluated(frame, node, element)
    trips = derived(length, Kind.NUMBER, iterable)
    outside = frame.stepping
    if _is_handed_out(element):
        frame.stepping = _trains(node)
    through = _loop(frame, node, trips, lambda: bind_target(frame, node.target, element))
    frame.stepping = outside
    frozen_by(frame, node)
    if through and isinstance(node.target, cst.Name):
        agreed = aliases.exchanged(node.body, {node.target.value: element}, frame.memory.names)
        aliases.hand_back_all(frame, node.iter, iterable, agreed)
    return through


def _trains(loop: cst.For) -> bool:
    """Whether gradients are computed in a loop: where not, it evaluates."""
    methods = (node.attr.value for node in of_class(loop.body, cst.Attribute))
    return any(map(COMPUTES_GRADIENTS.fits, methods))


def _evaluates(frame: Frame, loop: cst.For) -> bool:
    """Whether nothing is trained in a loop: gradients are off around it or in it."""
    names = names_in(loop.body)
    return not names & STEPS_OF_TRAINING and (not frame.memory.control.grad or bool(names & WITHOUT_GRADIENTS))


def _evaluated(frame: Frame, loop: cst.For, element: Value) -> Value:
    """A batch of this rank's own, or a tuple with one, as one that is evaluated."""
    if isinstance(element, TupleValue):
        return element.having(tuple(_evaluated(frame, loop, item) for item in element.items))
    if element.kind is not Kind.BATCH or not element.rank.differs:
        return element
    provenance = element.provenance or frame.step(loop.iter, "this rank's own data")
    return element.replace(
        provenance=Evaluated(provenance.module, provenance.node, provenance.text, provenance.before, loop)
    )


def _is_handed_out(element: Value) -> bool:
    """Whether an element is a batch of a prepared loader, or a tuple with one, as `enumerate` gives it."""
    if isinstance(element, TupleValue):
        return any(map(_is_handed_out, element.items))
    return element.kind is Kind.BATCH and element.wrapping is Wrapping.WRAPPED


def _each_entry(frame: Frame, node: cst.For, iterable: Value, entries: list[Value]) -> bool:
    """A loop over a dict in sight runs once per key, so that each key keeps its own fact."""
    before, exits = frame.memory.control, len(frame.exits)
    for index, entry in enumerate(entries):
        frame.unroll_index = (*frame.unroll_index, index)
        loop = Loop()
        frame.loops.append(loop)
        bind_target(frame, node.target, entry)
        through = run_body(frame, node.body)
        frame.loops.pop()
        frame.unroll_index = frame.unroll_index[:-1]
        memory = frame.memory if through else None
        for other in (*loop.continues, *loop.breaks):
            memory = other if memory is None else memory.merge(other)
        if memory is None:
            return False
        memory.control = before
        frame.memory = memory
        aliases.hand_back(frame, node, iterable, entry, index)
    _forget_ways_behind(frame, exits)
    return otherwise(frame, node.orelse)


def run_while(frame: Frame, node: cst.While) -> bool:
    test = evaluate(frame, node.test)
    if truth(frame, test) is False:
        return otherwise(frame, node.orelse)
    forever = truth(frame, test) is True
    return _loop(frame, node, test, lambda: _enter_while(frame, node), forever=forever)


def _enter_while(frame: Frame, node: cst.While) -> None:
    evaluate(frame, node.test)
    narrow(frame, node.test, True)


@dataclass
class _Settled:
    """A loop once the facts at its head do not change any more: that state, and its last round."""

    head: Memory
    loop: Loop


def _loop(
    frame: Frame,
    node: cst.For | cst.While,
    trips: Value,
    enter: Callable[[], None],
    forever: bool = False,
) -> bool:
    """Run a loop's body until the facts at its head settle, and join what leaves it."""
    division = divides(frame, node.iter if isinstance(node, cst.For) else node.test, trips)
    before = frame.memory
    returns, exits, start = len(frame.returned), len(frame.exits), len(frame.sync_points)
    settled = _settle(frame, node, division, enter, (returns, start))
    _forget_ways_behind(frame, exits)
    if division.rank.differs and not (isinstance(node, cst.For) and _as_many(division.rank)):
        end = len(frame.sync_points)
        branch = Branch(
            division.provenance.node,
            division.provenance,
            (start, end, end),
            origins=division.rank.origins,
            by=DividedBy.LOOP,
        )
        for observe in frame.observers.branch:
            observe(frame, branch)
    is_agreed = _as_many(trips.rank) and all_meet(settled.head.control, frame.sync_points[start:])
    after = _behind(before, settled, ranks.SAME if is_agreed else _temporal(trips.rank), forever)
    if after is None:
        return False
    # A `break` leaves the loop, where all ranks meet again; a `return` does not, nor does the end of a process.
    after.control = before.control.under(division) if len(frame.exits) > exits else before.control
    frame.memory = after
    return otherwise(frame, node.orelse) if node.orelse is not None else True


def _settle(
    frame: Frame, node: cst.For | cst.While, division: Control, enter: Callable[[], None], marks: tuple[int, int]
) -> _Settled:
    """marks: how many returns and synchronisation points there were before the loop."""
    before = frame.memory
    returns, start = marks
    head = before.fork()
    head.control = before.control.under(division)
    loop = Loop()
    for _ in range(_ROUNDS):
        loop = Loop()
        del frame.sync_points[start:]
        end = _round(frame, node, head, loop, enter)
        if end is None:
            break
        # Ranks that have left the loop are not there in its next round.
        left = _left_behind(head.control, loop, frame.returned[returns:])
        end.control = head.control
        grown = head.fork().merge(end)
        settled = left is head.control and _is_settled(frame, node, loop, head, grown)
        head = grown
        head.control = left
        if settled:
            break
    return _Settled(head, loop)


def _round(
    frame: Frame, node: cst.For | cst.While, head: Memory, loop: Loop, enter: Callable[[], None]
) -> Memory | None:
    """Run the body once; the state in which it comes back to its head, if it does."""
    frame.loops.append(loop)
    frame.memory = head.fork()
    frame.statement = node
    enter()
    through = run_body(frame, node.body)
    end = frame.memory if through else None
    frame.loops.pop()
    for memory in loop.continues:
        end = memory if end is None else end.merge(memory)
    return end


def _as_many(trips: Rank) -> bool:
    """Whether a loop goes round once per sample of a batch or of a rank's share of the data.

    As a rule, batches and shares are as large on all ranks.
    """
    if trips.how == ranks.HELD:
        return False
    return trips.state is State.SHARD or trips.how == "count" or Origin.RANK in trips.origins


def _left_behind(control: Control, loop: Loop, returned: list[tuple[Value, Memory]]) -> Control:
    """How sure it is that all ranks come round to a loop's head again, after what made some of them leave it."""
    for memory in (*loop.breaks, *(memory for _, memory in returned)):
        if memory.control.uniformity > control.uniformity:
            control = control.under(memory.control)
    return control


def _forget_ways_behind(frame: Frame, exits: int) -> None:
    """A `break` or `continue` does not leave what is around a loop. exits: how many ways out there were before."""
    frame.exits[exits:] = [each for each in frame.exits[exits:] if not isinstance(each, (cst.Break, cst.Continue))]


def _temporal(trips: Rank) -> Rank:
    """Ranks that go round a different number of times leave with different values."""
    return ranks.nonlinear(Rank(State.LOCAL, trips.origins)) if trips.differs else ranks.SAME


def _behind(before: Memory, settled: _Settled, divided: Rank, forever: bool) -> Memory | None:
    """The state after a loop: that at its head, which covers zero rounds as well, and those at its `break`s."""
    after: Memory | None = None
    if not forever:
        after = settled.head
        if divided.differs:
            _divide_counters(before, after, divided)
    chosen = ranks.SAME
    for memory in settled.loop.breaks:
        leaving = _set_up_inside(before.control, memory.control)
        chosen = _temporal(leaving) if leaving.differs else chosen
        after = memory if after is None else after.merge(memory, chosen)
    if after is not None and chosen.differs:
        _divide_counters(before, after, chosen)
    return after


def _set_up_inside(outer: Control, inner: Control) -> Rank:
    """How ranks differ in the conditions of a place inside of another: those who come to that one come to it alike."""
    known = {id(each.provenance) for each in outer.conditions}
    own = [each.rank for each in inner.conditions if id(each.provenance) not in known and each.rank.differs]
    return Rank(State.LOCAL, reduce(or_, (each.origins for each in own))) if own else ranks.SAME


def _divide_counters(before: Memory, after: Memory, divided: Rank) -> None:
    """What a loop counts differs where the ranks leave it in different rounds."""
    for name, value in after.names.items():
        old = before.names.get(name)
        if old is not None and old is not value and value.rank.state is State.SAME and value.kind is Kind.NUMBER:
            after.names[name] = value.replace(rank=divided, const=MISSING)


def _is_settled(frame: Frame, node: cst.For | cst.While, loop: Loop, head: Memory, grown: Memory) -> bool:
    """Whether another round could find no other facts: only names that were there before count.

    Who leaves in the middle of a round takes along what the rounds before have made.
    """
    for key, value in grown.attributes.items():
        old = head.attributes.get(key)
        if old is not None and old is not value and not alike(old, value):
            return False
    names, containers = _changed(head, grown)
    if not (names or containers):
        return True
    return not loop.breaks and write_only_names.looks_at_none(frame, node, grown, names, containers)


def _changed(head: Memory, grown: Memory) -> tuple[list[str], set[Identity]]:
    """The names and the containers of which something else is known than before."""
    names = []
    for name, value in grown.names.items():
        old = head.names.get(name)
        if old is not None and old is not value and not alike(old, value):
            names.append(name)
    containers = set()
    for identity, cell in grown.heap.items():
        known = head.heap.get(identity)
        if known is not None and known is not cell and not alike_cells(known, cell):
            containers.add(identity)
    return names, containers
