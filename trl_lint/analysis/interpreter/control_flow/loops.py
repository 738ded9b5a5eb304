"""Loops: the body is run until the facts at its head reach a fixpoint, or once per item of a known container."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import control_of_condition, narrow, truth
from trl_lint.analysis.interpreter.control_flow import (
    declared_targets,
    left_together,
    replaced_entries,
    returns_in_loops,
    skipped_rest,
    write_only_names,
)
from trl_lint.analysis.interpreter.control_flow.branches import run_body, run_else
from trl_lint.analysis.interpreter.control_flow.collators import run_collators
from trl_lint.analysis.interpreter.control_flow.training_loops import asking_for_batches, evaluates, trained_on
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.interpreter.objects import aliases, evaluated_batches, present_on_some, sequences
from trl_lint.analysis.interpreter.objects.assignment import bind_target
from trl_lint.analysis.program.idioms.path_conditions import is_bound
from trl_lint.analysis.program.syntax import ancestors, assignments, of_class
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame, Loop
from trl_lint.analysis.state.observing import Branch
from trl_lint.analysis.transfer.data import uneven_inputs
from trl_lint.analysis.transfer.models.frozen_models import switched_by
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.control import Control
from trl_lint.domain.derived import derived
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.equality import same_contents, same_facts
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import Identity, LoaderValue
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.sync_points import all_synchronise
from trl_lint.domain.values import BOTTOM, SAME, Kind, Value, Wrapping
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS

_Key = TypeVar("_Key", bound=Hashable)
# Facts only climb the lattice, so a fixpoint is reached soon; this bound is for pathological loops.
_MAX_RUNS = 5


def run_for(frame: Frame, node: cst.For) -> bool:
    iterable = present_on_some.used(frame, node.iter, evaluate(frame, node.iter))
    iterable = containers.as_view(frame, iterable, node.iter)
    entries = containers.items_of(frame, iterable) or containers.items_to_unroll(frame, iterable)
    entries = entries or aliases.tensors_to_unroll(frame, node, iterable)
    if entries is not None and frame.may_unroll(len(entries)):
        unrolled = frame.unrolled
        frame.unrolled *= len(entries)
        through = _each_entry(frame, node, iterable, entries)
        frame.unrolled = unrolled
        switched_by(frame, node)
        if through and len(entries) == 1:
            replaced_entries.replace_all(frame, node)
        return through
    element, length = _iterated(frame, node, iterable)
    if element.rank.state is State.BOTTOM:
        element = BOTTOM
    element = SAME if iterable.kind is Kind.BATCH and replaced_entries.gives_keys(frame, node) else element
    element = trained_on(frame, node, element)
    if length.differs and element.rank.differs and element.provenance is None:
        element = element.replace(provenance=frame.step(node.iter, "`{}` is this rank's own data"))
    if evaluates(frame, node):
        element = evaluated_batches.marked(frame, node, node.iter, element)
    trips = derived(length, Kind.NUMBER, iterable)
    outside = frame.stepping
    if _is_prepared_batch(element):
        frame.stepping = _trains(node)
    asking = asking_for_batches(frame, node, element)
    through = _loop(frame, node, trips, lambda: _enter_for(frame, node, element), asking=asking)
    frame.stepping = outside
    switched_by(frame, node)
    if through:
        replaced_entries.replace_all(frame, node)
    if through and isinstance(node.target, cst.Name):
        agreed = aliases.became_uniform(node.body, {node.target.value: element}, frame.memory.names)
        aliases.write_back_all(frame, node.iter, iterable, agreed)
    elif through:
        aliases.write_back_zipped(frame, node, element)
    return through


def _iterated(frame: Frame, node: cst.For, iterable: Value) -> tuple[Value, Rank]:
    """An element of what a loop goes over, and whether its length is the same on all ranks."""
    iterable = sequences.iterated(frame, iterable, node)
    element, length = containers.iterate(frame, iterable)
    if length.differs and iterable.rank.state is State.SHARD and _is_whole_batch(frame, node):
        length = Rank(State.LOCAL, length.origins, "count")  # dealt out evenly
    length = uneven_inputs.length_of(frame, node, element, length)
    return element, containers.length_on_some(frame, iterable) or length


def _is_whole_batch(frame: Frame, node: cst.For) -> bool:
    """Whether a loop goes over what another loop gets from a loader: `for batch in loader: for part in batch:`."""
    around = [each for each in ancestors(frame.root, node) if isinstance(each, cst.For)]
    outer = next((each for each in reversed(around) if each.target.deep_equals(node.iter)), None)
    if outer is None or is_bound(outer.body, node.iter):
        return False
    return isinstance(frame.known_value(outer.iter), LoaderValue)


def _enter_for(frame: Frame, node: cst.For, element: Value) -> None:
    run_collators(frame, node)
    bind_target(frame, node.target, element)
    declared_targets.fill(frame, node)


def _trains(loop: cst.For) -> bool:
    """Whether gradients are computed in a loop; if not, it is an evaluation loop."""
    methods = (node.attr.value for node in of_class(loop.body, cst.Attribute))
    return any(map(COMPUTES_GRADIENTS.fits, methods))


def _is_prepared_batch(element: Value) -> bool:
    """Whether an element is a batch of a prepared dataloader, or a tuple with one, as from `enumerate`."""
    is_batch = element.kind is Kind.BATCH and element.wrapping is Wrapping.WRAPPED
    return is_batch or any(map(_is_prepared_batch, element.items))


def _each_entry(frame: Frame, node: cst.For, iterable: Value, entries: list[Value]) -> bool:
    """Run a loop over a known dict once per key, so that each key keeps its own facts."""
    before, exits, returns = frame.memory.control, len(frame.exits), len(frame.returned)
    are_items = containers.positions_of(frame, iterable) is not None
    of_some = containers.length_on_some(frame, iterable)
    trips = SAME if of_some is None else derived(of_some, Kind.NUMBER, iterable)
    inside = before.under(control_of_condition(frame, node.iter, trips))
    start, whole, forever = frame.memory.fork(), Loop(), False
    start.control = inside
    for index, entry in enumerate(entries):
        frame.memory.control = inside
        frame.unroll_index = (*frame.unroll_index, index)
        loop = Loop(of_items=are_items)
        frame.loops.append(loop)
        bind_target(frame, node.target, entry)
        through = run_body(frame, node.body)
        frame.loops.pop()
        frame.unroll_index = frame.unroll_index[:-1]
        ends = [frame.memory, *loop.continues] if through else loop.continues
        ends = [reduce(Memory.merge, ends)] if ends else []
        for frame.memory in (*loop.breaks, *ends):
            aliases.write_back(frame, node, iterable, entry, index)
            aliases.write_back_zipped(frame, node, entry, of_one=True)
        whole.breaks += loop.breaks
        whole.left_by += loop.left_by
        forever = not ends
        if forever and not loop.breaks:
            break
        # Where all leave, it may be that there is no such entry.
        frame.memory = ends[0] if ends else reduce(Memory.merge, [each.fork() for each in loop.breaks])
    after = _state_after(frame, node, start, _Settled(frame.memory, whole), ranks.SAME, forever)
    if after is None:
        return False
    after.control = returns_in_loops.control_behind(frame, node, before, frame.returned[returns:])
    frame.memory = after
    _drop_loop_exits(frame, exits)
    return run_else(frame, node.orelse)


def run_while(frame: Frame, node: cst.While) -> bool:
    test = evaluate(frame, node.test)
    if truth(frame, test) is False:
        return run_else(frame, node.orelse)
    begins = truth(frame, test) is True
    if begins and _takes_one_off(node):
        _enter_while(frame, node)
        if not run_body(frame, node.body) or truth(frame, evaluate(frame, node.test)) is False:
            return run_else(frame, node.orelse)
    asking = asking_for_batches(frame, node)
    return _loop(frame, node, test, lambda: _enter_while(frame, node), begins=begins, asking=asking)


def _takes_one_off(node: cst.While) -> bool:
    """Whether a loop takes a model out of its wrappers, of which most have one: `while hasattr(model, "module"): …`."""
    match node:
        case cst.While(cst.Call(cst.Name("hasattr" | "isinstance"), [cst.Arg(cst.Name(tested)), *_]), body):
            targets = [target for target, _ in assignments(body)]
            return len(body.body) == 1 and len(targets) == 1 and targets[0].deep_equals(cst.Name(tested))
    return False


def _enter_while(frame: Frame, node: cst.While) -> None:
    evaluate(frame, node.test)
    narrow(frame, node.test, True)


def _is_endless(frame: Frame, node: cst.While, head: Memory) -> bool:
    """Whether the test of a loop that has begun is always true: it can read what the body has assigned."""
    start = len(frame.sync_points)
    frame.memory = head.fork()
    endless = truth(frame, evaluate(frame, node.test)) is True
    del frame.sync_points[start:]
    return endless


@dataclass
class _Settled:
    """A loop at its fixpoint: the state at its head, and its last iteration."""

    head: Memory
    loop: Loop


def _loop(
    frame: Frame,
    node: cst.For | cst.While,
    trips: Value,
    enter: Callable[[], None],
    begins: bool = False,
    asking: cst.For | cst.While | None = None,
) -> bool:
    """Run a loop's body to a fixpoint, and join the states that leave it.

    begins: whether the test of a `while` is true before the first iteration. asking: the loop, if it asks for the
    batches of an evaluation.
    """
    division = control_of_condition(frame, node.iter if isinstance(node, cst.For) else node.test, trips)
    before = frame.memory
    returns, exits, start = len(frame.returned), len(frame.exits), len(frame.sync_points)
    settled = _settle(frame, node, division, enter, (returns, start), asking)
    _drop_loop_exits(frame, exits)
    is_dealt = trips.rank.how == ranks.DEALT
    if division.rank.differs and (is_dealt or not (isinstance(node, cst.For) and _is_per_sample(division.rank))):
        end = len(frame.sync_points)
        branch = Branch(
            division.provenance.node,
            division.provenance,
            (start, end, end),
            origins=division.rank.origins,
            by=DividedBy.SHARE if is_dealt else DividedBy.LOOP,
        )
        for observe in frame.observers.branch:
            observe(frame, branch)
    forever = begins and isinstance(node, cst.While) and _is_endless(frame, node, settled.head)
    is_agreed = _is_per_sample(trips.rank) and all_synchronise(settled.head.control, frame.sync_points[start:])
    after = _state_after(frame, node, before, settled, ranks.SAME if is_agreed else _temporal(trips.rank), forever)
    if after is None:
        return False
    # After a `break` all ranks continue after the loop; after a `return` or the end of a process they do not.
    after.control = before.control.under(division) if len(frame.exits) > exits else before.control
    after.control = returns_in_loops.control_behind(frame, node, after.control, frame.returned[returns:])
    frame.memory = after
    return run_else(frame, node.orelse) if node.orelse is not None else True


def _settle(
    frame: Frame,
    node: cst.For | cst.While,
    division: Control,
    enter: Callable[[], None],
    marks: tuple[int, int],
    asking: cst.For | cst.While | None,
) -> _Settled:
    """Run the body until the state at its head does not change.

    marks: the numbers of returns and of synchronisation points before the loop.
    """
    before = frame.memory
    returns, start = marks
    head = before.fork()
    head.control = before.control.under(division)
    loop = Loop()
    for _ in range(_MAX_RUNS):
        loop = Loop(asking)
        del frame.sync_points[start:]
        end = _run_once(frame, node, head, loop, enter)
        if end is None:
            break
        is_whole = not _begin_with(frame, head, end)
        # Ranks that have left the loop are missing in its next iteration.
        continuing = _control_after_exits(head.control, loop, frame.returned[returns:])
        end.control = head.control
        grown = head.fork().merge(end)
        settled = is_whole and continuing is head.control and _is_settled(frame, node, loop, head, grown)
        head = grown
        head.control = continuing
        if settled:
            break
    return _Settled(head, loop)


def _begin_with(frame: Frame, head: Memory, end: Memory) -> bool:
    """Let a loop begin with the numbers and flags that its body has first read, and made differ between ranks since.

    for batch in loader:
        if self.stops: break            asks for what the body has set in an earlier iteration
        if loss < 0.1: self.stops = True

    Returns whether there are any: their values so far say nothing of the first iteration.
    """
    frame.memory = head
    differing = [
        key
        for key, value in end.attributes.items()
        if value.kind is Kind.NUMBER and value.rank.differs and key not in head.attributes
    ]
    written = [key for key in differing if key in frame.objects.attribute_writes]
    for key in written:
        frame.read_attribute(*key)
    return any(key in head.attributes for key in written)


def _run_once(
    frame: Frame, node: cst.For | cst.While, head: Memory, loop: Loop, enter: Callable[[], None]
) -> Memory | None:
    """Run the body once. Returns the state in which it reaches its head again, or None."""
    frame.loops.append(loop)
    frame.memory = head.fork()
    frame.statement = node
    enter()
    through = run_body(frame, node.body)
    end = frame.memory if through else None
    frame.loops.pop()
    return skipped_rest.merged(frame, head.control, end, loop)


def _is_per_sample(trips: Rank) -> bool:
    """Whether a loop runs once per sample of a batch or of a rank's shard.

    As a rule, batches and shards have the same size on all ranks.
    """
    if trips.how in (ranks.CHOSEN, ranks.HELD):
        return False
    return trips.state is State.SHARD or trips.how == "count" or Origin.RANK in trips.origins


def _control_after_exits(control: Control, loop: Loop, returned: list[tuple[Value, Memory]]) -> Control:
    """The control at a loop's head in the next iteration, after exits that only some ranks may have taken."""
    for memory in (*loop.breaks, *(memory for _, memory in returned)):
        if memory.control.uniformity > control.uniformity:
            control = control.under(memory.control)
    return control


def _drop_loop_exits(frame: Frame, exits: int) -> None:
    """Drop `break` and `continue`, which do not leave code around the loop. exits: the number of exits before it."""
    frame.exits[exits:] = [each for each in frame.exits[exits:] if not isinstance(each, (cst.Break, cst.Continue))]


def _temporal(trips: Rank) -> Rank:
    """The rank of values after a loop with this number of iterations: they differ if the number does."""
    return ranks.nonlinear(Rank(State.LOCAL, trips.origins)) if trips.differs else ranks.SAME


def _state_after(
    frame: Frame, node: cst.For | cst.While, before: Memory, settled: _Settled, divided: Rank, forever: bool
) -> Memory | None:
    """The state after a loop: the join of the state at its head (which covers zero iterations) and at its `break`s."""
    after: Memory | None = None
    if not forever:
        after = settled.head
        if divided.differs:
            _divide_counters(before, after, divided)
    parted = left_together.split(frame, node, settled.loop)
    if parted is None:
        return _with_breaks(before, after, settled.loop.breaks, before.control)
    staying = _with_breaks(before, after, parted.staying, parted.without_leaving(before.control))
    after = _with_breaks(before, staying.fork() if staying else None, parted.leaving, before.control)
    if staying is not None and after is not None:
        left_together.note(frame, parted, staying, after)
    return after


def _with_breaks(before: Memory, after: Memory | None, breaks: Sequence[Memory], known: Control) -> Memory | None:
    """The join of a state after a loop with those of ranks that have left it by a `break`.

    before: the state before the loop. known: the conditions that keep away none of the ranks that it is asked for.
    """
    chosen = ranks.SAME
    for memory in breaks:
        leaving = _inner_conditions(known, memory.control)
        chosen = _temporal(_divergence(leaving)) if leaving else chosen
        staying = None if after is None else (after.names.copy(), after.attributes.copy())
        after = memory if after is None else after.merge(memory, chosen)
        if staying is not None and leaving:
            _explain_chosen(after.names, staying[0], leaving[-1])
            _explain_chosen(after.attributes, staying[1], leaving[-1])
    if after is not None and chosen.differs:
        _divide_counters(before, after, chosen)
    return after


def _inner_conditions(outer: Control, inner: Control) -> list[Control]:
    """The conditions of `inner` that are not conditions of `outer`, and differ between ranks."""
    known = {id(each.provenance) for each in outer.conditions}
    return [each for each in inner.conditions if id(each.provenance) not in known and each.rank.differs]


def _divergence(differing: list[Control]) -> Rank:
    """How ranks differ by these conditions."""
    return Rank(State.LOCAL, reduce(or_, (each.rank.origins for each in differing))) if differing else ranks.SAME


def _explain_chosen(after: dict[_Key, Value], staying: Mapping[_Key, Value], condition: Control) -> None:
    """Numbers that differ after a loop because ranks leave it by a `break`: `if is_nan: failed = True; break`.

    staying: the names, or the attributes, on the ranks that stay. condition: that of the `break`.
    """
    for name, found in after.items():
        is_changed = found is not staying.get(name)
        if is_changed and found.kind is Kind.NUMBER and found.rank.differs and found.provenance is None:
            after[name] = found.replace(provenance=condition.provenance)


def _divide_counters(before: Memory, after: Memory, divided: Rank) -> None:
    """Counters differ between ranks that leave the loop in different iterations."""
    for name, value in after.names.items():
        old = before.names.get(name)
        if old is not None and old is not value and value.rank.state is State.SAME and value.kind is Kind.NUMBER:
            after.names[name] = value.replace(rank=divided, const=MISSING)


def _is_settled(frame: Frame, node: cst.For | cst.While, loop: Loop, head: Memory, grown: Memory) -> bool:
    """Whether another iteration would find no new facts; only names that existed before count.

    A rank that leaves in the middle of an iteration takes with it what earlier iterations have computed.
    """
    for key, value in grown.attributes.items():
        old = head.attributes.get(key)
        if old is not None and old is not value and not same_facts(old, value):
            return False
    names, containers = _changed(head, grown)
    if not (names or containers):
        return True
    return not loop.breaks and write_only_names.reads_none_of(frame, node, grown, names, containers)


def _changed(head: Memory, grown: Memory) -> tuple[list[str], set[Identity]]:
    """The names and the containers whose facts have changed."""
    names = []
    for name, value in grown.names.items():
        old = head.names.get(name)
        if old is not None and old is not value and not same_facts(old, value):
            names.append(name)
    containers = set()
    for identity, cell in grown.heap.items():
        known = head.heap.get(identity)
        if known is not None and known is not cell and not same_contents(known, cell):
            containers.add(identity)
    return names, containers
