"""The plan for a collective that a condition on the rank keeps from the others: it is made before the condition.

What the condition lets through stands in one block, line by line: the body of the `if`, or what follows one that
returns. Lines that all ranks need are moved before it; of a line that only one rank may run, the collective becomes
a name of its own. What the condition asks besides the rank goes on to be asked, of all ranks: `if due and main:` is
parted. On one process the same is done in the same order.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from trl_lint.analysis.events import Divergence
from trl_lint.analysis.interpreter.conditions import alone
from trl_lint.analysis.program.syntax import ancestors, children
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.support.blocks import certainly_bound, enclosing_statement, own_line
from trl_lint.fixes.support.edits import Edit, Insert, Move, NoRewrite, Part, Replace, Rewrite
from trl_lint.fixes.support.placing import base_name, may_be_none
from trl_lint.fixes.support.scope import (
    always_reached,
    binders,
    bound,
    bound_names,
    declared_names,
    dotted,
    free_name,
    is_pure,
    last_name,
    leaves,
    may_change_objects,
    nodes,
    root_name,
    used_names,
)
from trl_lint.fixes.support.tree import has_comment
from trl_lint.knowledge.loggers import SHOWING

_BEFORE = "it is called before the condition, whenever the condition is asked, so that all ranks take part"
_BEHIND = "it is called behind the condition, whenever the condition is asked, so that all ranks take part"
_PARTED = "it is called wherever the rest of the condition holds, so that all ranks take part"
_UNFIT = NoRewrite("the code before the call may not work on every rank")
# Calls that set up a model for all ranks alike.
_MODES = frozenset({"eval", "train"})
# Modules whose functions only compute.
_COMPUTE = frozenset({"F", "math", "np", "numpy", "torch"})
# Meetings of which one process alone sees nothing.
_WITHOUT_EFFECT = frozenset({"barrier", "broadcast", "gathered", "objects", "padded", "reduced"})


class _Left(Exception):
    """Why a fix is left to the author."""


@dataclass(slots=True)
class _Region:
    """What only some ranks get to: lines of one block. tree: the module they stand in.

    guard: the statement before which all ranks get. test: what decides there who gets to the lines. asked: the names
    and attributes that it asks, less those that say which rank this is. called: the meetings there, by the id of their
    node. ends: whether all ranks come together again behind these lines. shared: what of the condition goes on to be
    asked around the lines that all ranks get. moved, edits, names: what is planned for them so far, and the names that
    are new.
    """

    tree: Any
    root: Any
    guard: Any
    test: Any
    asked: frozenset[str]
    lines: Sequence[Any]
    called: dict[int, Any]
    ends: bool
    shared: Part | None = None
    moved: list[Any] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def plan_for(event: Divergence) -> Rewrite | NoRewrite:
    """How to have all ranks make the calls that a condition on the rank keeps some of them from."""
    if event.origins != Origin.RANK or event.one_by_one or not event.missing:
        return _UNFIT
    if not all(meeting.symmetric and meeting.certain for meeting in event.missing):
        return NoRewrite("as it is, this call may not work on every rank")
    if not all(_is_parted_by(meeting, event.condition.node) for meeting in event.missing):
        return NoRewrite("the call depends on more than this condition")
    if not all(_leaves_no_trace(step) for meeting in event.missing for step in _helpers(meeting)):
        return NoRewrite("the function that makes the call does more, which may not be for all ranks")
    try:
        return _rewrite(_region(event))
    except _Left as left:
        return NoRewrite(str(left))


def _is_parted_by(meeting: Any, test: Any) -> bool:
    """Whether the condition is the outermost that keeps ranks from a call."""
    parting = [each for each in meeting.control.conditions if each.level == 2]
    return not parting or (parting[0].why is not None and parting[0].why.node is test)


def _helpers(meeting: Any) -> Iterable[Any]:
    step = meeting.via
    while step is not None:
        yield step
        step = step.before


def _leaves_no_trace(step: Any) -> bool:
    """Whether a function in which ranks meet does nothing to what others see: it computes, and shows."""
    around = [node for node in ancestors(step.module.tree, step.node) if isinstance(node, cst.FunctionDef)]
    if not around:
        return False
    function: Any = around[-1]
    own = bound_names(function.body)
    stored = [each for each in bound(function.body) if not isinstance(each, cst.Name)]
    lone = [node.value for node in nodes(function.body) if isinstance(node, cst.Expr)]
    calls = [node for node in lone if isinstance(node, cst.Call) and node is not step.node]
    changed = [*stored, *(call.func for call in calls if last_name(call.func) not in SHOWING | _MODES)]
    return not declared_names(function) and all(_holder(each) in own for each in changed)


def _holder(node: Any) -> str:
    """The name that `name.x`, `name[i].x` starts with."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


# --- what only some ranks get to ------------------------------------------------------------------------


def _region(event: Divergence) -> _Region:
    root = event.owner.node if event.owner is not None else event.module.tree
    test: Any = event.condition.node
    around = ancestors(root, test)
    guard: Any = around[-1] if around else None
    called = {id(meeting.node): meeting for meeting in event.missing}
    asked = frozenset(_asked(test, event.seen))
    first = event.missing[0].node
    if isinstance(guard, (cst.IfExp, cst.BooleanOperation)):
        own = own_line(root, guard)
        if own is None or not always_reached((own[0], *_between(own[0], guard)), guard):
            raise _Left("there is no line of its own before which it could be called")
        holds = (
            isinstance(guard.operator, cst.And)
            if isinstance(guard, cst.BooleanOperation)
            else _holds(guard.body, first)
        )
        if _shared(event, test, holds):
            raise _Left("a part of the condition that is the same on all ranks decides on the call as well")
        return _Region(event.module.tree, root, own[0], test, asked, (own[0],), called, False)
    found = enclosing_statement(root, test)
    if not isinstance(guard, cst.If) or found is None or found[0] is not guard:
        raise _Left("there is no place before the condition")
    if not event.after:
        holds = _holds(guard.body, first)
        arm = guard.body if holds else getattr(guard.orelse, "body", None)
        region = _Region(event.module.tree, root, guard, test, asked, _block(arm), called, not leaves(guard))
        shared = _shared(event, test, holds)
        if shared:
            region.shared = _part(event, guard, shared)
            rest_of_test = [part for part in _conjuncts(test) if not any(part is each for each in shared)]
            region.asked = frozenset(text for part in rest_of_test for text in _asked(part, event.seen))
        return region
    if guard.orelse is not None or not _returns(guard.body) or _is_in_loop(around):
        raise _Left("what follows may have to be done by all ranks")
    _shared(event, test, False)
    rest: Sequence[Any] = found[1][-1].body
    start = next(index for index, each in enumerate(rest) if each is guard)
    return _Region(event.module.tree, root, guard, test, asked, rest[start + 1 :], called, False)


# --- what of the condition is the rank's ------------------------------------------------------------------


def _shared(event: Divergence, test: Any, holds: bool) -> list[Any]:
    """The parts of a condition that go on to be asked around what only some ranks get to, where it is `holds`.

    On one process the rank's part lets it through: without that, it does what it did before.
    """
    if any(isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield)) for node in nodes(test)):
        raise _Left("the condition does more than to ask")
    parts = _conjuncts(test) if holds else [test]
    answers = [_answer(event.seen, part) for part in parts]
    if any(answer is None and _asks_rank(event.seen, part) for part, answer in zip(parts, answers, strict=True)):
        raise _Left("what the condition asks besides the rank decides on the call as well")
    if not all(answer is None or answer is holds for answer in answers):
        _check_harmless(event, parts)
    return [part for part, answer in zip(parts, answers, strict=True) if answer is None]


def _conjuncts(test: Any) -> list[Any]:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*_conjuncts(test.left), *_conjuncts(test.right)]
    return [test]


def _answer(seen: Mapping[int, Any], test: Any) -> bool | None:
    """What a condition says where there is one process only; None if something else than the rank decides on it.

    Raises:
        _Left: it is not known to be the same on all ranks but for their number.
    """
    if isinstance(test, cst.BooleanOperation):
        answers = [_answer(seen, test.left), _answer(seen, test.right)]
        decisive = isinstance(test.operator, cst.Or)
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = _answer(seen, test.expression)
        return None if inner is None else not inner
    value = seen.get(id(test))
    if value is None or not (value.rank.state is State.SAME or alone(value)):
        raise _Left("what the condition says on one process is not known")
    answer = alone(value)
    return None if answer is None else bool(answer.value)


def _asks_rank(seen: Mapping[int, Value], test: Any) -> bool:
    """Whether the rank has a say in a condition at all."""
    if isinstance(test, cst.BooleanOperation):
        return _asks_rank(seen, test.left) or _asks_rank(seen, test.right)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _asks_rank(seen, test.expression)
    return seen[id(test)].rank.differs


def _check_harmless(event: Divergence, parts: Sequence[Any]) -> None:
    """Where nothing of it is done on one process, only what has no effect there may be done by all."""
    plain = all(meeting.via is None and meeting.kind in _WITHOUT_EFFECT for meeting in event.missing)
    mixed = any(isinstance(node, cst.BooleanOperation) for part in parts for node in nodes(part))
    if not plain or mixed:
        raise _Left("one process does nothing of this, and would")


def _part(event: Divergence, guard: cst.If, shared: Sequence[Any]) -> Part:
    """How an `if` is parted into what all ranks ask, and what tells one from the others."""
    module = event.module.tree
    if guard.orelse is not None:
        raise _Left("an `else` belongs to the condition")
    if has_comment(module, guard.test):
        raise _Left("a comment stands in the condition")
    own = [part for part in _conjuncts(guard.test) if not any(part is each for each in shared)]
    first = next(index for index, part in enumerate(_conjuncts(guard.test)) if part is own[0])
    if not all(is_pure(part) for part in _conjuncts(guard.test)[first:] if any(part is each for each in shared)):
        raise _Left("what the condition asks behind the rank may do more")
    return Part(guard, _tidy(_without(guard.test, own)), _tidy(_without(guard.test, shared)))


def _without(test: Any, parts: Sequence[Any]) -> Any:
    """A condition without some of its conjuncts; None if none is left."""
    if any(test is each for each in parts):
        return None
    if not (isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And)):
        return test
    left, right = _without(test.left, parts), _without(test.right, parts)
    if left is not None and right is not None:
        return test.with_changes(left=left, right=right)
    only = left if right is None else right
    if only is None or only.lpar or not (isinstance(only, cst.BooleanOperation) or _spans_lines(only)):
        return only
    return only.with_changes(lpar=test.lpar, rpar=test.rpar)  # else it may no longer be one expression


def _tidy(test: Any) -> Any:
    """A whole condition without parentheses around it, where it needs none."""
    bare = test.with_changes(lpar=[], rpar=[])
    return test if _spans_lines(bare) else bare


def _spans_lines(node: Any) -> bool:
    return "\n" in cst.Module([]).code_for_node(node)


def _between(outer: Any, inner: Any) -> tuple[Any, ...]:
    return ancestors(outer, inner)[1:]


def _holds(block: Any, node: Any) -> bool:
    return any(each is node for each in nodes(block))


def _block(arm: Any) -> Sequence[Any]:
    if not isinstance(arm, cst.IndentedBlock):
        raise _Left("there is no line of its own that could be moved")
    return arm.body


def _returns(block: Any) -> bool:
    last = block.body[-1] if isinstance(block, cst.IndentedBlock) else block
    return isinstance(last.body[-1], cst.Return) if isinstance(last, cst.SimpleStatementLine) else False


def _is_in_loop(around: Sequence[Any]) -> bool:
    return any(isinstance(node, (cst.For, cst.While)) for node in around)


# --- what becomes of its lines --------------------------------------------------------------------------


def _rewrite(region: _Region) -> Rewrite:
    for index, line in enumerate(region.lines):
        calls = _calls(region, line)
        if not calls:
            continue
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            raise _Left("the call depends on more than this condition")
        _take(region, index, line, calls)
    below = {id(node) for line in region.lines for node in nodes(line)}
    if not below.issuperset(region.called):
        raise _Left("the ranks part for more calls than those under the condition")
    _check_what_is_left(region)
    if region.shared is not None:
        return Rewrite((*region.edits, region.shared), caution=_PARTED)
    behind = any(isinstance(edit, Move) and edit.behind for edit in region.edits)
    return Rewrite(tuple(region.edits), caution=_BEHIND if behind else _BEFORE)


def _calls(region: _Region, line: Any) -> list[Any]:
    """The outermost of the calls in a line that all ranks have to make, in order."""
    found: list[Any] = []
    for node in nodes(line):
        if id(node) in region.called and not any(_holds(outer, node) for outer in found):
            found.append(node)
    return found


def _take(region: _Region, index: int, line: Any, calls: Sequence[Any]) -> None:
    """Plan how all ranks make the calls of a line."""
    only = line.body[0]
    if isinstance(only, cst.Expr) and only.value is calls[0] and region.guard is not line:
        _move_as_it_is(region, index, line, calls[0])
        return
    if any(_meeting(region, call).kind == "barrier" for call in calls):
        raise _Left("the call stands in a larger statement")
    for call in calls:
        _check_order(region, line, call)
        _make_ready(region, index, call)
    if isinstance(only, cst.Assign) and only.value is calls[0] and _is_private(region, line):
        _move(region, line)
        return
    for call in calls:
        name = free_name(region.root, _name_for(region, call), region.names)
        region.names.add(name)
        text = cst.Module([]).code_for_node(call.with_changes(lpar=[], rpar=[]))
        region.edits += [Insert(region.guard, f"{name} = {text}", root=region.root), Replace(call, cst.Name(name))]


def _meeting(region: _Region, call: Any) -> Any:
    return region.called[id(call)]


def _move_as_it_is(region: _Region, index: int, line: Any, call: Any) -> None:
    """A call whose result nobody uses keeps its place among the others: it is the first, or the last."""
    stay = [each for each in region.lines[:index] if not _is_moved(region, each)]
    if not stay:
        _make_ready(region, index, call)
        _move(region, line)
        return
    if region.lines[index + 1 :] or not region.ends:
        raise _Left("it stands between what only some ranks do")
    if any(binders(each, used_names(call)) for each in stay):
        raise _Left("what it is given is made under the condition")
    _check_bound(region, used_names(call))
    _move(region, line, behind=True)


def _move(region: _Region, line: Any, behind: bool = False) -> None:
    region.edits.append(Move(line, region.guard, behind))
    region.moved.append(line)


def _is_moved(region: _Region, line: Any) -> bool:
    return any(each is line for each in region.moved)


def _is_private(region: _Region, line: Any) -> bool:
    """Whether a line binds one name that nothing outside of these lines reads or binds."""
    targets = line.body[0].targets if isinstance(line.body[0], cst.Assign) else ()
    if len(targets) != 1 or not isinstance(targets[0].target, cst.Name):
        return False
    name = targets[0].target.value
    inside = sum(_uses(each, name) for each in region.lines)
    return inside == _uses(region.root, name) and len(binders(region.root, [name])) == 1


def _uses(root: Any, name: str) -> int:
    return sum(isinstance(node, cst.Name) and node.value == name for node in nodes(root))


def _check_what_is_left(region: _Region) -> None:
    """An `if` that goes with its last line takes nothing else with it."""
    guard = region.guard
    if not isinstance(guard, cst.If) or len(region.moved) < len(region.lines):
        return
    if any(_may_do_more(region, node) for node in nodes(guard.test) if isinstance(node, cst.Call)):
        raise _Left("the condition calls a function that may do more")
    if region.shared is not None:
        return
    if has_comment(cst.Module([]), guard.test):
        raise _Left("a comment stands in the condition")
    body: Any = guard.body
    arms = (body.header, *body.footer)
    if guard.orelse is not None or any(getattr(each, "comment", None) is not None for each in arms):
        raise _Left("nothing but the call stands under the condition")


def _may_do_more(region: _Region, call: cst.Call) -> bool:
    """Whether a call in a condition that goes away may have been there for more than its answer."""
    name = last_name(call.func)
    own = [node for node in nodes(region.tree) if isinstance(node, cst.FunctionDef) and node.name.value == name]
    return any(not _only_answers(function) for function in own)


def _only_answers(function: cst.FunctionDef) -> bool:
    stored = any(not isinstance(each, cst.Name) for each in bound(function.body))
    lone = (node.value for node in nodes(function.body) if isinstance(node, cst.Expr))
    return not stored and not declared_names(function) and not any(isinstance(each, cst.Call) for each in lone)


# --- whether all ranks can do so ------------------------------------------------------------------------


def _check_order(region: _Region, line: Any, call: Any) -> None:
    """A call that is taken out of its line is always made there, and nothing before it in the line has an effect."""
    path = _between(line, call)
    if region.guard is line:
        parents = [getattr(node, "test", None) or getattr(node, "left", None) for node in path]
        path = path[next(index for index, each in enumerate(parents) if each is region.test) + 1 :]
    if path and not always_reached(path, call):
        raise _Left("the call depends on more than this condition")
    around = {id(each) for each in _between(line, call)}
    for node in nodes(line):
        if node is call:
            return
        if isinstance(node, cst.NamedExpr) or (
            isinstance(node, cst.Call) and id(node) not in around | region.called.keys() and not _only_computes(node)
        ):
            raise _Left("what stands before it in the line may have to come first")


def _make_ready(region: _Region, index: int, call: Any) -> None:
    """Have what a call is given before the condition on all ranks, the same as in its place."""
    if not all(_is_plain(region, arg.value) for arg in call.args):
        raise _Left("what it is given is computed by a call that may do more")
    data = _data(region, call)
    makers: list[Any] = []
    for line in reversed(region.lines[:index]):
        if _is_moved(region, line):
            continue
        if binders(line, data):
            data |= _made_from(region, line)
            makers.append(line)
        elif not _is_harmless(line, data):
            raise _Left("what it is given may be changed under the condition")
    given = {text for each in (*_operands(region, call), *makers) for text in _texts(each)}
    if any(_overlap(one, other) for one in given for other in region.asked):
        raise _Left("the condition asks for what it is given")
    for line in reversed(makers):
        _move(region, line)
    _check_bound(region, data)


def _data(region: _Region, call: Any) -> set[str]:
    """The names of what a call reads."""
    return {name for each in _operands(region, call) for name in used_names(each)}


def _operands(region: _Region, call: Any) -> list[Any]:
    """What a call reads: its arguments, and the object whose method it is, unless that is the one of a collective."""
    values = [arg.value for arg in call.args]
    inner = [each for value in values for each in nodes(value) if id(each) in region.called]
    receivers = {id(each.func) for each in inner if _meeting(region, each).via is None}
    if _meeting(region, call).via is not None:
        values.append(call.func.value if isinstance(call.func, cst.Attribute) else call.func)
    return [each for value in values for each in _less(value, receivers)]


def _less(node: Any, left_out: Container[int]) -> list[Any]:
    """A node, or its parts without some of the nodes below it."""
    if id(node) in left_out:
        return []
    if not any(id(each) in left_out for each in nodes(node)):
        return [node]
    return [each for child in children(node) for each in _less(child, left_out)]


def _made_from(region: _Region, line: Any) -> set[str]:
    """What is read by a line that makes what a call is given, and that can be moved with it."""
    movable = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and _is_private(region, line)
    if not movable or not _is_plain(region, line.body[0].value):
        raise _Left("what it is given is made under the condition")
    return used_names(line)


def _is_plain(region: _Region, node: Any) -> bool:
    """Whether an expression only computes: its calls are pure, or are themselves to be made by all ranks."""
    inside = list(nodes(node))
    if any(isinstance(each, (cst.NamedExpr, cst.Await, cst.Yield)) for each in inside):
        return False
    return all(id(each) in region.called or _only_computes(each) for each in inside if isinstance(each, cst.Call))


def _only_computes(call: cst.Call) -> bool:
    """Whether a function, whatever its arguments do, computes something new and no more."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value.endswith("_"):
        return False
    return root_name(call.func) in _COMPUTE or is_pure(call.with_changes(args=[]))


def _asked(node: Any, seen: Mapping[int, Any]) -> Iterator[str]:
    """What a condition asks, as `a.b.c`, less the attributes and methods that say which rank this is."""
    value = seen.get(id(node))
    tells_rank = value is not None and value.kind is Kind.NUMBER and value.rank.origins == Origin.RANK
    if isinstance(node, cst.Call) and tells_rank:
        node = cst.Tuple([cst.Element(arg.value) for arg in node.args])
    elif isinstance(node, cst.Attribute) and tells_rank:
        return
    if text := dotted(node):
        yield text
        return
    for child in children(node):
        yield from _asked(child, seen)


def _texts(node: Any) -> Iterator[str]:
    """The `a.b.c` below a node, each as far as it goes."""
    if text := dotted(node):
        yield text
    elif isinstance(node, cst.Arg):
        yield from _texts(node.value)
    else:
        for child in children(node):
            yield from _texts(child)


def _overlap(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _is_harmless(line: Any, data: set[str]) -> bool:
    """Whether a line that stays leaves what these names hold as it is."""
    if may_change_objects(line):
        return not data & used_names(line)
    calls = [node for node in nodes(line) if isinstance(node, cst.Call)]
    return all(last_name(call.func) in SHOWING or _only_computes(call) or not data & used_names(call) for call in calls)


def _check_bound(region: _Region, names: set[str]) -> None:
    made = {name for line in region.moved for name in bound_names(line)}
    for name in names - made - {"self"}:
        if not certainly_bound(region.root, name, region.guard) or may_be_none(region.root, name):
            raise _Left("what it is given may have no value on all ranks")


def _name_for(region: _Region, call: Any) -> str:
    """`gathered_x` for `gather(x)`, `state_dict` for `get_state_dict(…)`, `mean_loss_result` for a helper's."""
    meeting = _meeting(region, call)
    own = last_name(call.func).strip("_")
    if meeting.via is None and meeting.kind.endswith("ed"):
        inner = call
        while id(inner) in region.called and inner.args:
            inner = inner.args[0].value
        base = base_name(inner) if inner is not call else ""
        return f"{meeting.kind}_{base}" if base else meeting.kind
    return own.removeprefix("get_") if own.startswith("get_") else f"{own}_result"
