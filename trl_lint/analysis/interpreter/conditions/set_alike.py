"""Names that are set to the same on both sides of a test of the rank: they do not differ by it.

For example:

    if rank == 0: steps = wait + active
    else: steps = wait + active                        the same on all ranks, if `wait` and `active` are
    main = args.profile and rank == 0
    if main: steps = wait + active
    elif args.profile and rank != 0: steps = wait + active      the same: as if the test were `args.profile`
    elif args.trace and rank != 0: steps = wait + active        not: it is another test
    else: steps = wait                                          not: the other ranks have another number
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.idioms.other_ranks import are_for_other_ranks
from trl_lint.analysis.program.idioms.path_conditions import Condition, bindings, is_bound_once, outcomes_of_parts
from trl_lint.analysis.program.syntax import assigned_once, below, of_class, precedes, used_names
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control
from trl_lint.domain.joins import join
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value

_Branch: TypeAlias = "cst.If | cst.Else"

# Whatever else a function is given or returns, it may do something each time.
_COMPUTING = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "round", "str"})


def names_after(
    frame: Frame, node: cst.If, before: Mapping[str, Value], taken: Mapping[str, Value], division: Control
) -> dict[str, Value]:
    """The names that are set alike in all branches, or in those of both sides of a test of the rank.

    before, taken: the names before the `if`, and where its test is true.
    """
    if not division.rank.differs or node.orelse is None:
        return {}
    branches = _branches(node)
    pair, rest = branches[:2], branches[2:]
    found: dict[str, Value] = {}
    if _is_one_test(frame, node, node.orelse):
        kept = (each for each in _set_alike(frame, pair, taken) if each in before and not _binds(rest, {each}))
        found = {name: join(taken[name], before[name]) for name in kept}
    if isinstance(branches[-1], cst.Else):
        found |= {name: taken[name] for name in _set_alike(frame, branches, taken)}
    return found


def _branches(node: cst.If) -> list[_Branch]:
    """All branches of an `if` and its `elif`s."""
    found: list[_Branch] = [node]
    while isinstance(last := found[-1], cst.If) and last.orelse is not None:
        found.append(last.orelse)
    return found


def _set_in(body: cst.BaseSuite) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that each run of a branch sets once, with the values."""
    lines = body.body if isinstance(body, cst.IndentedBlock) else ()
    for statement in (each for line in lines if isinstance(line, cst.SimpleStatementLine) for each in line.body):
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)], value=value):
                if is_bound_once(body, name):
                    yield name.value, value


def _set_alike(frame: Frame, branches: Sequence[_Branch], taken: Mapping[str, Value]) -> Iterator[str]:
    """The names that these branches set to the same, computed from what is the same on all ranks."""
    for name, value in _set_in(branches[0].body):
        given = [dict(_set_in(each.body)).get(name) for each in branches]
        is_written_alike = _only_computes(value) and all(each is not None and each.deep_equals(value) for each in given)
        is_same = name in taken and taken[name].rank.state is State.SAME and _are_same_values(frame, given)
        operands = used_names(value) - {name}
        if is_written_alike and is_same and not _binds([each.body for each in branches], operands):
            yield name


def _are_same_values(frame: Frame, given: Sequence[cst.CSTNode | None]) -> bool:
    """Whether all are the same on all ranks, and none is known as another constant: the rank is 0 where it is first."""
    values = [frame.known_value(each) for each in given]
    known = [each for each in values if each is not None and each.rank.state is State.SAME]
    return len(known) == len(values) and all(each.const == known[0].const for each in known)


def _only_computes(value: cst.BaseExpression) -> bool:
    calls = of_class(value, cst.Call)
    return all(isinstance(each.func, cst.Name) and each.func.value in _COMPUTING for each in calls)


def _binds(code: Sequence[cst.CSTNode], names: set[str]) -> bool:
    return any(True for each in code for name in names for _ in bindings(each, cst.Name(name)))


def _is_one_test(frame: Frame, node: cst.If, orelse: cst.CSTNode) -> bool:
    """Whether the tests of an `if` and its `elif` are one, the same on all ranks, but for the side of the rank."""
    if not isinstance(orelse, cst.If):
        return False
    mine = list(_parts(frame.root, Condition(node.test, True), node))
    theirs = list(_parts(frame.root, Condition(orelse.test, True), node))
    own, rest = _without(mine, theirs), _without(theirs, mine)
    shared = [frame.known_value(each.test) for each in mine if each not in own]
    is_shared = all(each is not None and not each.rank.differs for each in shared)
    return is_shared and len(own) == len(rest) == 1 and _are_opposite(own[0], rest[0])


def _parts(root: cst.CSTNode, condition: Condition, node: cst.If) -> Iterator[Condition]:
    """The outcomes of the parts of a test, also of one that a name was given before and still stands for."""
    for each in outcomes_of_parts(condition):
        meant = assigned_once(root, each.test.value) if isinstance(each.test, cst.Name) else None
        if meant is not None and is_bound_once(root, each.test) and _still_holds(root, meant, node):
            yield from _parts(root, Condition(meant, each.holds), node)
        else:
            yield each


def _still_holds(root: cst.CSTNode, meant: cst.BaseExpression, node: cst.If) -> bool:
    """Whether nothing that an expression reads is set between it and an `if`."""
    read = [each for each in below(meant) if isinstance(each, (cst.Attribute, cst.Name))]
    return precedes(root, meant, node) and all(
        precedes(root, each, meant) for subject in read for each in bindings(root, subject)
    )


def _without(parts: Sequence[Condition], others: Sequence[Condition]) -> list[Condition]:
    return [each for each in parts if not any(_are_same(each, other) for other in others)]


def _are_same(one: Condition, other: Condition) -> bool:
    return one.holds is other.holds and one.test.deep_equals(other.test)


def _are_opposite(one: Condition, other: Condition) -> bool:
    if one.test.deep_equals(other.test):
        return one.holds is not other.holds
    return one.holds and other.holds and are_for_other_ranks(one.test, other.test)
