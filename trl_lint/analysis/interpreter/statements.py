"""Statements: how each of them changes the state, and whether the next one is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from trl_lint.analysis.interpreter import library_calls, operators, subscripts
from trl_lint.analysis.interpreter.assignment import bind_target
from trl_lint.analysis.interpreter.conditions import divides, engine_arm, narrow, other_ranks, truth
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.observers import backends, gradient_sync, preprocessing, rendezvous
from trl_lint.analysis.program import syntax
from trl_lint.analysis.program.objects import ClassValue, FunctionValue
from trl_lint.analysis.program.syntax import below, identifiers
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame, Loop, derived
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.equality import alike, alike_cells
from trl_lint.domain.heap import Cell, Memory, join_elements
from trl_lint.domain.kinds import NONE, ContainerValue, TupleValue
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge.heuristics import COMPUTES_GRADIENTS

# A loop's facts only climb the lattice, so it settles soon; this bound is for the pathological.
_ROUNDS = 5


def run_block(frame: Frame, body: Iterable[cst.CSTNode]) -> bool:
    """Run the statements of a suite in order. Returns whether its end is reached."""
    for statement in body:
        handler = HANDLERS.get(type(statement))
        if handler is None:
            continue
        if isinstance(statement, cst.SimpleStatementLine):
            if not _simple_line(frame, statement):
                return False
        else:
            frame.statement = statement
            if not handler(frame, statement):
                return False
    return True


def _simple_line(frame: Frame, line: Any) -> bool:
    for small in line.body:
        handler = HANDLERS.get(type(small))
        if handler is not None:
            frame.statement = small
            if not handler(frame, small):
                return False
    return True


# --- simple statements ----------------------------------------------------------------------------------


def _expression(frame: Frame, node: cst.Expr) -> bool:
    frame.discarded = node.value
    evaluate(frame, node.value)
    frame.discarded = None
    return True


def _assign(frame: Frame, node: cst.Assign) -> bool:
    value = evaluate(frame, node.value)
    for target in node.targets:
        bind_target(frame, target.target, value)
    return True


def _annotated(frame: Frame, node: cst.AnnAssign) -> bool:
    if node.value is not None:
        value = evaluate(frame, node.value)
        if value is UNKNOWN:
            value = frame.engine.annotated(frame, node.annotation.annotation) or value
        bind_target(frame, node.target, value)
    return True


def _augmented(frame: Frame, node: cst.AugAssign) -> bool:
    old = evaluate(frame, node.target)
    right = evaluate(frame, node.value)
    if isinstance(old, ContainerValue) and isinstance(node.operator, (cst.AddAssign, cst.BitOrAssign)):
        _grow(frame, old, right)
        return True
    bind_target(frame, node.target, operators.operate(frame, node.operator, old, right, node))
    return True


def _grow(frame: Frame, old: ContainerValue, right: Value) -> None:
    """`items += more`: the container itself grows."""
    is_list = isinstance(right, ContainerValue) and all(cell.shape == "list" for cell in frame.memory.cells(right))
    # An empty entry of a library's store is what is done with it.
    if not is_list and any(cell.shape == "dict" for cell in frame.memory.cells(old)):
        frame.update(old, lambda cell: containers.merged_into(frame, cell, right))
        return
    element, length = containers.iterate(frame, right)
    if frame.is_stored(old):
        element = frame.written(element, "", syntax.only_element(getattr(frame.statement, "value", None)))
    frame.update(
        old,
        lambda cell: Cell(
            "list" if is_list else cell.shape,
            rest=join_elements(cell.element(), element),
            length=ranks.join(cell.length, length),
        ),
    )


def _return(frame: Frame, node: cst.Return) -> bool:
    value = NONE if node.value is None else evaluate(frame, node.value)
    frame.returned.append((value, frame.memory))
    frame.exit_count += 1
    return False


def _nonlocal(frame: Frame, node: cst.Global | cst.Nonlocal) -> bool:
    frame.nonlocals |= {item.name.value for item in node.names}
    return True


def _raise(frame: Frame, node: cst.Raise) -> bool:
    return False


def _break(frame: Frame, node: cst.Break) -> bool:
    if frame.loops:
        frame.loops[-1].breaks.append(frame.memory)
    frame.exit_count += 1
    return False


def _continue(frame: Frame, node: cst.Continue) -> bool:
    if frame.loops:
        frame.loops[-1].continues.append(frame.memory)
    frame.exit_count += 1
    return False


def _assert(frame: Frame, node: cst.Assert) -> bool:
    evaluate(frame, node.test)
    narrow(frame, node.test, True)
    return True


def _delete(frame: Frame, node: cst.Del) -> bool:
    targets = node.target.elements if isinstance(node.target, cst.Tuple) else (node.target,)
    for target in targets:
        inner = target.value if isinstance(target, cst.Element) else target
        if isinstance(inner, cst.Name):
            frame.memory.names.pop(inner.value, None)
        elif isinstance(inner, cst.Subscript):
            _delete_item(frame, inner)
        elif isinstance(inner, cst.Attribute):
            evaluate(frame, inner.value)
    return True


def _delete_item(frame: Frame, target: cst.Subscript) -> None:
    container = evaluate(frame, target.value)
    if isinstance(container, ContainerValue) and len(container.identities) == 1:
        key = containers.constant_key(subscripts.subscript_value(frame, target))
        frame.update(
            container,
            lambda cell: Cell(
                cell.shape,
                {name: value for name, value in cell.entries.items() if name != key},
                cell.rest,
                cell.factory,
                cell.length,
            ),
        )


def _import(frame: Frame, node: cst.Import) -> bool:
    frame.engine.run_import(frame, node)
    return True


def _import_from(frame: Frame, node: cst.ImportFrom) -> bool:
    frame.engine.run_import_from(frame, node)
    return True


# --- definitions ----------------------------------------------------------------------------------------


def _function(frame: Frame, node: cst.FunctionDef) -> bool:
    outer = frame if frame.function is not None else None
    function = frame.engine.function(node, outer, frame.module)
    frame.memory.names[node.name.value] = FunctionValue(function)
    return True


def _class(frame: Frame, node: cst.ClassDef) -> bool:
    cls = frame.engine.class_info(frame, node)
    frame.memory.names[node.name.value] = ClassValue(cls)
    return True


# --- branches -------------------------------------------------------------------------------------------


def _if(frame: Frame, node: cst.If) -> bool:
    test = evaluate(frame, node.test)
    known = truth(frame, test)
    if known is not None:
        return _decided(frame, node, known)
    before, exits, start = frame.memory, frame.exit_count, len(frame.sync_points)
    division = divides(frame, node.test, test)
    inside = before.control.under(division)
    engine = engine_arm(frame, node.test)

    frame.memory = before.fork()
    frame.memory.control = inside.under_engine() if engine is True else inside
    narrow(frame, node.test, True)
    narrowed = _narrowed(before, frame.memory) if division.uniformity is Uniformity.DIVERGENT else {}
    by_rank = division.rank.differs and division.rank.origins == Origin.RANK
    sets = preprocessing.marked(frame.memory, narrowed) if by_rank else {}
    through = run_block(frame, node.body.body)
    taken, taken_exits, middle = frame.memory, frame.exit_count, len(frame.sync_points)

    frame.memory = before.fork()
    frame.memory.control = inside.under_engine() if engine is False else inside
    narrow(frame, node.test, False)
    narrowed_else = _narrowed(before, frame.memory) if division.uniformity is Uniformity.DIVERGENT else {}
    sets_else = preprocessing.marked(frame.memory, narrowed_else) if by_rank else {}
    through_else = _otherwise(frame, node.orelse, node.test)
    skipped = frame.memory
    if through and through_else:
        _widen(before, taken, narrowed)
        _widen(before, skipped, narrowed_else)

    if division.rank.differs:
        marks, leaves = (start, middle, len(frame.sync_points)), (taken_exits > exits, frame.exit_count > taken_exits)
        ways = (through, through_else)
        rendezvous.branched(frame, node.test, division.why, marks, ways, leaves, division.rank.origins)
    left = frame.exit_count > exits
    after = before.control.under(division if left else UNIFORM)
    arms = ((taken, sets), (skipped, sets_else))
    parted = preprocessing.parted(before, arms, division) if through and through_else else {}
    goes_on = _meet(frame, ((through, taken), (through_else, skipped)), inside, after, test.rank)
    frame.memory.names.update(parted)
    if goes_on:
        ends = [memory.control for reached, memory in ((through, taken), (through_else, skipped)) if reached]
        waits = (frame.sync_points[start:middle], frame.sync_points[middle:])
        frame.memory.control = frame.memory.control.in_turn(preprocessing.behind(before.control, ends, waits, division))
    return goes_on


def _narrowed(before: Memory, memory: Memory) -> dict[str, Value]:
    """The names of which an arm knows more than the code before it, by what the condition says of them."""
    return {name: value for name, value in memory.names.items() if before.names.get(name) is not value}


def _widen(before: Memory, memory: Memory, narrowed: dict[str, Value]) -> None:
    """Forget at the end of an arm what its condition said: no rank has bound another value to these names."""
    for name, value in narrowed.items():
        if memory.names.get(name) is value:
            memory.names[name] = before.names[name]


def _meet(frame: Frame, arms: tuple[tuple[bool, Memory], ...], inside: Control, after: Control, divided: Rank) -> bool:
    """The state after a branch: the join of the arms that reach its end."""
    reached: Memory | None = None
    for through, memory in arms:
        if through:
            if memory.control.uniformity > inside.uniformity:
                after = after.under(memory.control)
            reached = memory if reached is None else reached.merge(memory, divided)
    if reached is None:
        return False
    reached.control = after
    frame.memory = reached
    return True


def _decided(frame: Frame, node: cst.If, known: bool) -> bool:
    if known:
        return run_block(frame, node.body.body)
    return _otherwise(frame, node.orelse)


def _otherwise(frame: Frame, orelse: Any, test: Any = None) -> bool:
    if orelse is None:
        return True
    if isinstance(orelse, cst.If) and not (test is not None and other_ranks(frame, test, orelse.test)):
        return _if(frame, orelse)
    return run_block(frame, orelse.body.body)


def _match(frame: Frame, node: cst.Match) -> bool:
    subject = evaluate(frame, node.subject)
    division = divides(frame, node.subject, subject)
    before, exits = frame.memory, frame.exit_count
    inside = before.control.under(division)
    arms: list[tuple[bool, Memory]] = []
    for case in node.cases:
        frame.memory = before.fork()
        frame.memory.control = inside
        arms.append((run_block(frame, case.body.body), frame.memory))
    frame.memory = before.fork()
    arms.append((True, frame.memory))
    after = before.control.under(division if frame.exit_count > exits else UNIFORM)
    return _meet(frame, tuple(arms), inside, after, subject.rank)


# --- loops ----------------------------------------------------------------------------------------------


def _for(frame: Frame, node: cst.For) -> bool:
    iterable = containers.as_view(frame, evaluate(frame, node.iter))
    entries = containers.items_of(frame, iterable) or containers.constants_of(frame, iterable)
    if entries is not None and frame.may_unroll(len(entries)):
        unrolled = frame.unrolled
        frame.unrolled *= len(entries)
        through = _each_entry(frame, node, entries)
        frame.unrolled = unrolled
        return through
    element, length = containers.iterate(frame, iterable)
    if element.rank.state is State.BOTTOM:
        element = BOTTOM
    if length.differs and element.rank.differs and element.why is None:
        element = element.but(why=frame.step(node, "this rank's own data"))
    trips = derived(length, Kind.NUMBER, iterable)
    outside = frame.stepping
    if _is_handed_out(element):
        frame.stepping = _trains(node)
    through = _loop(frame, node, trips, lambda: bind_target(frame, node.target, element), may_skip=True)
    frame.stepping = outside
    return through


def _trains(loop: cst.For) -> bool:
    """Whether gradients are computed in a loop: where not, it evaluates."""
    methods = (node.attr.value for node in below(loop.body) if isinstance(node, cst.Attribute))
    return any(map(COMPUTES_GRADIENTS.fits, methods))


def _is_handed_out(element: Value) -> bool:
    """Whether an element is a batch of a prepared loader, or a tuple with one, as `enumerate` gives it."""
    if isinstance(element, TupleValue):
        return any(map(_is_handed_out, element.items))
    return element.kind is Kind.BATCH and element.wrapping is Wrapping.WRAPPED


def _each_entry(frame: Frame, node: cst.For, entries: list[Value]) -> bool:
    """A loop over a dict in sight runs once per key, so that each key keeps its own fact."""
    before, exits, returns = frame.memory.control, frame.exit_count, len(frame.returned)
    for index, entry in enumerate(entries):
        frame.unroll_index = (*frame.unroll_index, index)
        loop = Loop()
        frame.loops.append(loop)
        bind_target(frame, node.target, entry)
        through = run_block(frame, node.body.body)
        frame.loops.pop()
        frame.unroll_index = frame.unroll_index[:-1]
        memory = frame.memory if through else None
        for other in (*loop.continues, *loop.breaks):
            memory = other if memory is None else memory.merge(other)
        if memory is None:
            return False
        memory.control = before
        frame.memory = memory
    frame.exit_count = exits + len(frame.returned) - returns
    return _otherwise(frame, node.orelse)


def _while(frame: Frame, node: cst.While) -> bool:
    test = evaluate(frame, node.test)
    if truth(frame, test) is False:
        return _otherwise(frame, node.orelse)
    forever = truth(frame, test) is True
    return _loop(frame, node, test, lambda: _enter_while(frame, node), may_skip=not forever, forever=forever)


def _enter_while(frame: Frame, node: cst.While) -> None:
    evaluate(frame, node.test)
    narrow(frame, node.test, True)


def _loop(frame: Frame, node: Any, trips: Value, enter: Any, may_skip: bool, forever: bool = False) -> bool:
    """Run a loop's body until the facts at its head settle."""
    division = divides(frame, node.iter if isinstance(node, cst.For) else node.test, trips)
    before = frame.memory
    returns, exits = len(frame.returned), frame.exit_count
    head = before.fork()
    head.control = before.control.under(division)
    start = len(frame.sync_points)
    loop = Loop()
    for _ in range(_ROUNDS):
        loop = Loop()
        del frame.sync_points[start:]
        frame.loops.append(loop)
        frame.memory = head.fork()
        frame.statement = node
        enter()
        through = run_block(frame, node.body.body)
        end = frame.memory if through else None
        frame.loops.pop()
        for memory in loop.continues:
            end = memory if end is None else end.merge(memory)
        if end is None:
            break
        # Ranks that have left the loop are not there in its next round.
        left = _left_behind(head.control, loop, frame.returned[returns:])
        end.control = head.control
        grown = head.fork().merge(end)
        settled = _settled(before, head, grown) and left is head.control
        head = grown
        head.control = left
        if settled:
            break
    frame.exit_count = exits + len(frame.returned) - returns  # a `break` leaves this loop and nothing around it
    if division.rank.differs and not (isinstance(node, cst.For) and _as_many(division.rank)):
        marks = (start, len(frame.sync_points), len(frame.sync_points))
        origins = division.rank.origins
        rendezvous.branched(frame, division.why.node, division.why, marks, (True, True), origins=origins)
    divided = _temporal(trips.rank)
    after: Memory | None = None
    if not forever:
        after = _leave(before, head, divided, may_skip)
    chosen = ranks.SAME
    for memory in loop.breaks:
        chosen = _temporal(memory.control.rank) if memory.control.rank.differs else chosen
        after = memory if after is None else after.merge(memory, chosen)
    if after is None:
        return False
    if chosen.differs:
        _divide_counters(before, after, chosen)
    # A `break` leaves the loop, where all ranks meet again; a `return` does not.
    after.control = before.control.under(division) if len(frame.returned) > returns else before.control
    frame.memory = after
    return _otherwise(frame, node.orelse) if node.orelse is not None else True


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


def _temporal(trips: Rank) -> Rank:
    """Ranks that go round a different number of times leave with different values."""
    return ranks.nonlinear(Rank(State.LOCAL, trips.origins)) if trips.differs else ranks.SAME


def _leave(before: Memory, head: Memory, divided: Rank, may_skip: bool) -> Memory:
    """The state after the loop's head has been left: it covers zero rounds as well."""
    if divided.differs:
        _divide_counters(before, head, divided)
    return head


def _divide_counters(before: Memory, after: Memory, divided: Rank) -> None:
    """What a loop counts differs where the ranks leave it in different rounds."""
    for name, value in after.names.items():
        old = before.names.get(name)
        if old is not None and old is not value and value.rank.state is State.SAME and value.kind is Kind.NUMBER:
            after.names[name] = value.but(rank=divided, const=MISSING)


def _settled(before: Memory, head: Memory, grown: Memory) -> bool:
    """Whether another round could find other facts: only names that were there before count."""
    for name, value in grown.names.items():
        old = head.names.get(name)
        if old is value:
            continue
        if old is None:
            continue
        if not alike(old, value):
            return False
    for key, value in grown.attributes.items():
        old = head.attributes.get(key)
        if old is not None and old is not value and not alike(old, value):
            return False
    for identity, cell in grown.heap.items():
        known = head.heap.get(identity)
        if known is not None and known is not cell and not alike_cells(known, cell):
            return False
    return True


# --- with, try ------------------------------------------------------------------------------------------


def _with(frame: Frame, node: cst.With) -> bool:
    values = []
    for item in node.items:
        value = evaluate(frame, item.item)
        values.append(value)
        bound = frame.context_values.pop(id(item.item), None)
        backends.entered(frame, value)
        if bound is None:
            bound = library_calls.entered(frame, item.item, value)
            preprocessing.note_unknown(frame, item.item, value)
        if item.asname is not None:
            bind_target(frame, item.asname.name, bound)
    before = frame.memory.control
    inside = gradient_sync.within(frame, preprocessing.inside(frame, node, before), node.items, values)
    if inside is before:
        return run_block(frame, node.body.body)
    frame.memory.control = inside
    start = len(frame.sync_points)
    through = run_block(frame, node.body.body)
    if preprocessing.has_turns(frame, node):
        why = frame.step(node, preprocessing.IN_TURN)
        marks = (start, len(frame.sync_points), len(frame.sync_points))
        rendezvous.branched(frame, node, why, marks, (True, True), turns=True)
    frame.memory.control = preprocessing.after(before, frame.memory.control, inside)
    return through


_CATCHES_MISSING = ("AttributeError", "Exception", "BaseException")


def _try(frame: Frame, node: Any) -> bool:
    before = frame.memory.fork()
    if any(not _raises_again(handler) for handler in node.handlers):
        # A rank on which something raises leaves the body and goes on behind it.
        left = frame.step(node, "a rank on which something raises does not get to the end of this")
        frame.memory.control = before.control.under(Control(Uniformity.UNKNOWN, left, ranks.UNKNOWN))
    forgiving = any(_forgives(frame, handler) for handler in node.handlers)
    frame.attribute_error_depth += forgiving
    through = run_block(frame, node.body.body)
    frame.attribute_error_depth -= forgiving
    done = frame.memory
    arms: list[tuple[bool, Memory]] = []
    caught = Control(
        Uniformity.DIVERGENT, frame.step(node, "only ranks on which something raises get here"), ranks.UNKNOWN
    )
    after = before.control
    for handler in node.handlers:
        frame.memory = before.fork().merge(done)
        frame.memory.control = before.control.under(caught)
        exits = frame.exit_count
        if handler.name is not None:
            bind_target(frame, handler.name.name, UNKNOWN)
        start = len(frame.sync_points)
        alone = run_block(frame, handler.body.body)
        arms.append((alone, frame.memory))
        if frame.exit_count > exits:
            left = frame.step(handler, "a rank on which something raises leaves here")
            after = after.under(Control(Uniformity.UNKNOWN, left, ranks.UNKNOWN))
        if not _raises_again(handler) and rendezvous.parts_ranks(handler):
            marks = (start, len(frame.sync_points), len(frame.sync_points))
            why = frame.step(handler, "only ranks on which something raises get here")
            leaves = (frame.exit_count > exits, False)
            rendezvous.branched(frame, handler, why, marks, (alone, True), leaves, tried=node.body)
    frame.memory = done
    if through and node.orelse is not None:
        through = run_block(frame, node.orelse.body.body)
    arms.append((through, frame.memory))
    reached: Memory | None = None
    for alive, memory in arms:
        if alive:
            reached = memory if reached is None else reached.merge(memory)
    frame.memory = reached or done
    frame.memory.control = after
    if node.finalbody is not None and not run_block(frame, node.finalbody.body.body):
        return False
    return reached is not None


def _raises_again(handler: Any) -> bool:
    body = handler.body.body
    last = body[-1] if body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Raise)


def _forgives(frame: Frame, handler: Any) -> bool:
    return handler.type is None or any(name in _CATCHES_MISSING for name in identifiers(handler.type))


HANDLERS: dict[type, Callable[[Frame, Any], bool]] = {
    cst.AnnAssign: _annotated,
    cst.Assert: _assert,
    cst.Assign: _assign,
    cst.AugAssign: _augmented,
    cst.Break: _break,
    cst.ClassDef: _class,
    cst.Continue: _continue,
    cst.Del: _delete,
    cst.Expr: _expression,
    cst.For: _for,
    cst.FunctionDef: _function,
    cst.If: _if,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.Global: _nonlocal,
    cst.Match: _match,
    cst.Nonlocal: _nonlocal,
    cst.Raise: _raise,
    cst.Return: _return,
    cst.SimpleStatementLine: _simple_line,
    cst.SimpleStatementSuite: _simple_line,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.While: _while,
    cst.With: _with,
}
