"""Values that only some ranks have: bound in one branch of a condition on the rank, unbound or None in the other.

For example:

    if rank == 0:
        writer = SummaryWriter()       `writer` is bound on the first rank
        self.run = init()              `self.run` as well, unless other methods assign it
        box[0] = find()                `box[0]` is None on the others, if it was before: `box = [None]`
    run = init() if main else None     `run` is None on the others
    name = run.name if run else None   so is `name`
    name = run and run.name            and this one
    def start():
        if rank != 0:
            return None
        return init()                  the result of `start()` is None on the others, too
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import alternatives, branch_of, parts_of
from trl_lint.analysis.program.syntax import (
    attribute_values,
    below,
    identifiers,
    is_literal_none,
    item_keys,
    of_class,
    self_attribute,
)
from trl_lint.analysis.transfer.processes import changed_on_some, chosen_numbers, placeholders
from trl_lint.domain.absence import Absence, Instead
from trl_lint.domain.constants import World
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.heap import Cell, Memory
from trl_lint.domain.kinds import Identity, as_instead
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.provenance import LauncherVariable, Step, source_step
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import JOB_SETTING, NAMES_ENGINE

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

_Key = TypeVar("_Key", bound=Hashable)
_AttributeKey: TypeAlias = tuple[Hashable, str]
_Memories: TypeAlias = tuple[Mapping[_Key, Value], Mapping[_Key, Value], Mapping[_Key, Value]]


class CalledOnSome:
    """By name, the methods that only some ranks call on objects of a class, each with why the others do not."""

    def __init__(self) -> None:
        self.by_method: dict[str, Absence] = {}


class Division(NamedTuple):
    """A condition on the rank, with its result (`holds`) on the ranks that have a value.

    around: the conditions under which it is evaluated.
    """

    frame: Frame
    test: cst.BaseExpression
    holds: bool
    condition: Step
    around: Control

    @property
    def text(self) -> str:
        return self.frame.module.tree.code_for_node(self.test)

    @property
    def rank_text(self) -> str:
        """The part of the test that asks for the rank, if it is one of several that must all be true."""
        asking = [each for each in parts_of(self.test) if _tests_rank(self.frame, each)]
        return self.frame.module.tree.code_for_node(asking[0]) if len(asking) == 1 else self.text

    def absence(self, bound: cst.CSTNode, instead: Instead) -> Absence:
        """The absence, on the other ranks, of a value that these ranks bind at a node."""
        frame = self.frame
        is_unbound = instead is Instead.NOTHING
        text = (
            "only the ranks that get here define it" if is_unbound else f"the other ranks have {instead.value} instead"
        )
        return Absence(
            self.condition,
            self.holds,
            frame.step(bound, text, self.condition),
            instead,
            test=self.text,
            rank_test=self.rank_text,
            owner=frame.function or frame.module,
            around=frozenset(id(place_of(each)) for each in self.around.conditions),
        )


def _divisions(frame: Frame, test: cst.BaseExpression, condition: Control, around: Control) -> list[Division]:
    """The branches of a condition on the rank that only some ranks take, and always the same ranks.

    if turn == rank: …             none: each rank has its turn
    if rank == 0 or flag: …        none: more ranks may take it
    if alone or rank == 0: …       both: with several processes, only rank 0 takes the first one
    if flag and rank == 0: …       the first: at most rank 0 takes it; which ranks take the other is unknown
    if rank == 0 and missing(): …  the same, whatever else is asked
    """
    if condition.uniformity is not Uniformity.DIVERGENT:
        return []
    several = alternatives(test)
    tested = [each for each in several if not _is_of_job(frame, each)]
    if len(tested) != 1 or not any(_tests_rank(frame, each) for each in parts_of(tested[0])):
        return []
    # What else is asked of the job has the same answer on all ranks, whether or not its value is known.
    origins = (condition if len(several) == 1 else frame.value_of(tested[0])).rank.origins
    is_one_of_several = isinstance(tested[0], cst.BooleanOperation)
    if Origin.RANK not in origins or (origins != Origin.RANK and not is_one_of_several):
        return []
    outcomes = (True,) if is_one_of_several else (True, False)
    return [Division(frame, test, holds, condition.provenance, around) for holds in outcomes]


def in_branch(frame: Frame, branch: cst.If, holds: bool, bound: cst.CSTNode) -> Absence | None:
    """The absence, on the ranks of the other branch, of a value for which they have None; None if they are unknown."""
    conditions = frame.memory.control.conditions
    condition = next((each for each in conditions if place_of(each) is branch.test), None)
    if condition is None:
        return None
    around = frame.memory.control.without_conditions(frozenset((id(condition.provenance),)))
    divisions = _divisions(frame, branch.test, condition, around)
    return next((each.absence(bound, Instead.NONE) for each in divisions if each.holds is holds), None)


def by_test(frame: Frame, test: cst.BaseExpression, holds: bool, condition: Control) -> Absence | None:
    """The absence on the other ranks, which have None, of what only the ranks get for which a test is true or false."""
    divisions = _divisions(frame, test, condition, frame.memory.control)
    return next((each.absence(test, Instead.NONE) for each in divisions if each.holds is holds), None)


def _is_of_job(frame: Frame, part: cst.CSTNode) -> bool:
    """Whether a part of a test asks if there is only one process: `not args.distributed`, `rank is None`."""
    if isinstance(frame.value_of(part).const, World):
        return True
    match part:
        case cst.Comparison(left=rank, comparisons=[cst.ComparisonTarget(cst.Is(), cst.Name("None"))]):
            return frame.value_of(rank).rank.origins == Origin.RANK
    is_denied = isinstance(part, cst.UnaryOperation) and isinstance(part.operator, cst.Not)
    if frame.value_of(part).rank.differs:
        return False  # `not is_main_process()` asks for the rank
    names = (*identifiers(part), *item_keys(part))
    return is_denied and any(JOB_SETTING.fits(each) or NAMES_ENGINE.fits(each) for each in names)


def _tests_rank(frame: Frame, part: cst.CSTNode) -> bool:
    """Whether a part of a test compares the rank with fixed ranks: `rank in (0, 4)`, but not `rank in group`.

    One that other ranks may pass as well does not: `rank == 0 or flag`.
    """
    if any(isinstance(each.operator, cst.Or) for each in of_class(part, cst.BooleanOperation)):
        return False
    value = frame.value_of(part)
    if isinstance(part, cst.Comparison) and sum(not _names_ranks(frame, each) for each in _sides(part)) > 1:
        return False
    is_of_launcher = value.rank.differs and isinstance(source_step(value.provenance), LauncherVariable)
    return is_of_launcher or single_process_value(value) is not None


def _sides(part: cst.Comparison) -> list[cst.BaseExpression]:
    return [part.left, *(each.comparator for each in part.comparisons)]


def _names_ranks(frame: Frame, side: cst.BaseExpression) -> bool:
    """Whether a side of a comparison is a constant rank, or a display of ranks."""
    known = frame.value_of(side).const
    return type(known) in (bool, int) or isinstance(side, (cst.List, cst.Set, cst.Tuple))


# --- where branches join --------------------------------------------------------------------------------


class Lacking(NamedTuple):
    """The names, the attributes and the entries of containers that some ranks lack after a branch."""

    names: dict[str, Absence]
    attributes: dict[_AttributeKey, Absence]
    entries: dict[tuple[Identity, Hashable], Absence]

    def note(self, frame: Frame) -> None:
        """Note them in the memory after the branch. What was published within it did not say so: that is done again."""
        memory = frame.memory
        frame.objects.dirty.update(key for key in self.attributes if key in frame.objects.attribute_writes)
        for name, absence in self.names.items():
            memory.names[name] = memory.names[name].replace(absence=absence)
        for key, absence in self.attributes.items():
            memory.attributes[key] = memory.attributes[key].replace(absence=absence)
        for (identity, index), absence in self.entries.items():
            cell = memory.heap[identity]
            if index in cell.entries:
                entries = {**cell.entries, index: cell.entries[index].replace(absence=absence)}
                memory.heap[identity] = cell.holding(entries, cell.rest)


def lacking_after(
    frame: Frame, node: cst.If, before: Memory, arms: tuple[tuple[bool, Memory], ...], condition: Control
) -> Lacking:
    """What some ranks lack after an `if`. arms: for each branch, whether its end is reached, and its memory there."""
    found = Lacking({}, {}, {})
    if not all(through for through, _ in arms):
        return found
    for division in _divisions(frame, node.test, condition, before.control):
        (_, mine), (_, other) = arms if division.holds else arms[::-1]
        code = node.body if division.holds else node.orelse
        if code is None:
            continue
        _note_calls(division, code)
        changed_on_some.note_calls(division, code, mine)
        free = _is_free_name(frame)
        found.names.update(_lacking(division, code, (before.names, mine.names, other.names), free))
        for name in placeholders.filled_by_one_branch(before, mine, other):
            found.names.setdefault(name, division.absence(binding_of(code, name) or node.test, Instead.NONES))
        of_objects: _Memories[_AttributeKey] = (before.attributes, mine.attributes, other.attributes)
        found.attributes.update(_lacking(division, code, of_objects, frame.objects.attribute_writes.__contains__))
        found.entries.update(_lacking_entries(division, code, (before.heap, mine.heap, other.heap)))
    return found


def _note_calls(division: Division, code: cst.CSTNode) -> None:
    """Note the methods of the same object that are called in a branch that only some ranks take."""
    within = division.frame.cls
    for call in of_class(code, cst.Call) if within is not None else ():
        method = within.find(self_attribute(call.func)) if within is not None else None
        cls = None if method is None else method.cls
        if method is None or cls is None or method.name in cls.origin.notes.of(CalledOnSome).by_method:
            continue
        cls.origin.notes.of(CalledOnSome).by_method[method.name] = division.absence(call, Instead.NOTHING)
        for attribute, _ in attribute_values(method.node):
            cls.count(attribute)  # what has read it so far did not know
        division.frame.engine.note_stored(CalledOnSome, method, id(call))


def _lacking(
    division: Division,
    code: cst.CSTNode,
    memories: _Memories[_Key],
    may_be_free: Callable[[Any], bool],
) -> dict[_Key, Absence]:
    """What the ranks in the other branch lack. memories: before both, in this branch, in the other."""
    before, mine, other = memories
    found = {}
    for key, value in mine.items():
        if value.kind is Kind.NONE or before.get(key) is value or value.rank.state is State.BOTTOM:
            continue
        if not may_be_free(key):
            continue
        instead = _instead(division, key, value, other.get(key))
        if instead is not None:
            found[key] = division.absence(binding_of(code, key) or division.test, instead)
    return found


def _lacking_entries(
    division: Division, code: cst.CSTNode, heaps: tuple[Mapping[Identity, Cell], ...]
) -> dict[tuple[Identity, Hashable], Absence]:
    """The entries of containers that are None on the ranks in the other branch. heaps: before both, here, there."""
    before, mine, other = heaps
    found = {}
    for identity, cell in mine.items():
        if identity not in before or identity not in other or before[identity] is cell:
            continue
        theirs = other[identity].entries
        for key, value in cell.entries.items():
            if value.kind is Kind.NONE or key not in theirs:
                continue
            if _instead(division, key, value, theirs[key]) is Instead.NONE:
                bound = _entry_binding(division.frame, code, identity) or division.test
                found[identity, key] = division.absence(bound, Instead.NONE)
    return found


def _entry_binding(frame: Frame, code: cst.CSTNode, identity: Identity) -> cst.CSTNode | None:
    """The node where code first assigns to an entry of a container; None if its text does not show one."""
    for target in of_class(code, cst.AssignTarget):
        match target:
            case cst.AssignTarget(target=cst.Subscript(value=container) as entry):
                if identity in frame.value_of(container).identities:
                    return entry
    return None


def _instead(division: Division, key: Hashable, mine: Value, theirs: Value | None) -> Instead | None:
    """What the ranks in the other branch have instead of a value; None if they may have such a value, too.

    That a known number or a flag differs is its rank fact. One of which nothing is known may be as on the other ranks.
    """
    if theirs is None:
        return None if _is_field(key) else Instead.NOTHING
    if theirs.absence is not None and theirs.absence.is_as(division.rank_text, division.holds):
        return theirs.absence.instead
    return _instead_of(mine, theirs)


def _instead_of(mine: Value, theirs: Value) -> Instead | None:
    instead = as_instead(theirs)
    return instead if instead is not Instead.FLAG or mine.rank.state is State.UNKNOWN else None


def _is_field(key: Hashable) -> bool:
    """Whether it is a field of an object that is made elsewhere, which may have it without this assignment."""
    return isinstance(key, str) and "." in key


def _is_free_name(frame: Frame) -> Callable[[str], bool]:
    """A test whether an unassigned name is unbound: in a module, it may be a builtin or come from a star import."""
    if frame.function is not None:
        return lambda name: name not in frame.nonlocals
    has_stars = bool(frame.module.stars or frame.module.library_stars)
    return lambda name: not has_stars and not hasattr(builtins, name)


_BINDERS = {
    *(cst.AssignTarget, cst.AnnAssign, cst.NamedExpr, cst.AsName, cst.ImportAlias, cst.FunctionDef, cst.ClassDef)
}


def binding_of(code: cst.CSTNode, key: Hashable) -> cst.CSTNode | None:
    """The node where code first binds a name, or an attribute of an object; None if its text does not show one."""
    name = key[1] if isinstance(key, tuple) else key
    for node in below(code):
        if node.__class__ not in _BINDERS:  # by class, because patterns take ten times as long for LibCST nodes
            continue
        match node:
            case cst.AssignTarget(target=target) | cst.AnnAssign(target=target) | cst.NamedExpr(target=target):
                if any(_is_called(each, name, key) for each in below(target)):
                    return target
            case cst.AsName(name=cst.Name(value=bound)) if bound == name:
                return node.name
            case cst.ImportAlias() if node.asname is None and node.evaluated_name.partition(".")[0] == name:
                return node.name
            case cst.FunctionDef() | cst.ClassDef() if node.name.value == name:
                return node.name
    return None


def _is_called(node: cst.CSTNode, name: object, key: Hashable) -> bool:
    if isinstance(key, tuple):
        return isinstance(node, cst.Attribute) and node.attr.value == name
    return isinstance(node, cst.Name) and node.value == name


def of_choice(frame: Frame, node: cst.IfExp, condition: Control, values: tuple[Value, Value], joined: Value) -> Value:
    """The value of `x if test else y`, with its absence on some ranks, or the reason why it differs between them."""
    if as_instead(values[0]) is as_instead(values[1]):
        return chosen_numbers.chosen(joined, values, condition)
    for division in _divisions(frame, node.test, condition, frame.memory.control):
        mine, theirs = values if division.holds else values[::-1]
        instead = _instead_of(mine, theirs)
        if instead is not None:
            return joined.replace(absence=division.absence(node.body if division.holds else node.orelse, instead))
    asked, holds = _asked_for(node.test)
    absence, (mine, theirs) = _none_on_some(frame, asked), values if holds else values[::-1]
    return joined if absence is None or as_instead(theirs) is not Instead.NONE else joined.replace(absence=absence)


def of_link(frame: Frame, link: cst.BooleanOperation, left: Value, joined: Value) -> Value:
    """The value of `left and right`, which is None where the left side is: `found and Path(found)`.

    One that ends in a test is a condition, and nobody asks whether it is None: `found and found.name == "last"`.
    """
    right, absence = frame.value_of(link.right), left.absence
    if absence is None or not absence.is_none or not isinstance(link.operator, cst.And):
        return joined
    is_of_right = joined is right or right.kind is Kind.NONE or right.dtype == "bool"
    return joined if is_of_right else joined.replace(absence=absence)


def _none_on_some(frame: Frame, expression: cst.BaseExpression) -> Absence | None:
    absence = frame.value_of(expression).absence
    return absence if absence is not None and absence.is_none else None


def _asked_for(test: cst.BaseExpression, holds: bool = True) -> tuple[cst.BaseExpression, bool]:
    """What a test asks for, and its outcome where that is there: `found`, `not found`, `found is None`."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            return _asked_for(denied, not holds)
        case cst.Comparison(left=asked, comparisons=[cst.ComparisonTarget(cst.Is(), cst.Name("None"))]):
            return asked, not holds
        case cst.Comparison(left=asked, comparisons=[cst.ComparisonTarget(cst.IsNot(), cst.Name("None"))]):
            return asked, holds
    return test, holds


def of_returned(frame: Frame, entry: Control, result: Value) -> Value:
    """The result of a function, with its absence if the function returns None, or a constant flag, on some ranks only.

    entry: the path condition at its entry.
    """
    if result.kind is Kind.NONE:
        return result
    found = _where_returned(frame, entry, Instead.NONE)
    if found is None and result.rank.state is State.UNKNOWN:
        found = _where_returned(frame, entry, Instead.FLAG)
    return result if found is None else result.replace(absence=found)


def _where_returned(frame: Frame, entry: Control, instead: Instead) -> Absence | None:
    """The absence of a result on the ranks for which a function returns None, or a flag; None if these are unknown."""
    values = [(as_instead(value) is instead, memory.control) for value, memory in frame.returned]
    theirs = [control for is_theirs, control in values if is_theirs]
    mine = [control for is_theirs, control in values if not is_theirs]
    if not theirs or not mine:
        return None
    known = {id(each.provenance) for each in entry.conditions}
    shared = set.intersection(*({id(each.provenance) for each in control.conditions} for control in mine))
    for control in theirs:
        inner = [each for each in control.conditions if id(each.provenance) not in known]
        if len(inner) == 1 and id(inner[0].provenance) in shared:
            absence = _of_returns(frame, inner[0], entry, instead)
            if absence is not None:
                return absence
    return None


def _of_returns(frame: Frame, condition: Control, entry: Control, instead: Instead) -> Absence | None:
    """The absence on the ranks for which a function returns this, if this condition decides which ranks those are."""
    test = place_of(condition)
    branch = branch_of(frame.root, test) if test is not None else None
    values = of_class(frame.root, cst.Return)
    returned = [each for each in values if each.value is not None and not _is_written(each.value, instead)]
    if branch is None or not returned:
        return None
    inside = [each for each in of_class(branch.body, cst.Return) if any(each is one for one in returned)]
    for division in _divisions(frame, branch.test, condition, entry):
        if division.holds is bool(inside):
            return division.absence((inside or returned)[0], instead)
    asked, holds = _asked_for(branch.test)
    return _none_on_some(frame, asked) if instead is Instead.NONE and holds is bool(inside) else None


def _is_written(value: cst.BaseExpression, instead: Instead) -> bool:
    """Whether an expression is None, or True or False."""
    if instead is Instead.NONE:
        return is_literal_none(value)
    return isinstance(value, cst.Name) and value.value in ("True", "False")
