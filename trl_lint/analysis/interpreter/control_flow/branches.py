"""Branches: both are run from the same state, and joined after them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.interpreter.conditions import (
    chosen_texts,
    defaults,
    engine_plugins,
    flags_of_tests,
    grown_tables,
    lists_of_models,
    loaders_with_sampler,
    one_or_list,
    own_tests,
    refused_runs,
    set_alike,
    shared_unless_none,
    started_or_none,
    switched_off,
    unwrapped_beside,
    wrapped_beside,
    wrapping_tests,
)
from trl_lint.analysis.interpreter.conditions.conditions import (
    control_of_condition,
    engine_outcome,
    narrow,
    other_ranks,
    truth,
)
from trl_lint.analysis.interpreter.conditions.one_rank_tests import as_left_by_some, branch_of_one_rank
from trl_lint.analysis.interpreter.conditions.reduced_branches import reduced_on_one_branch
from trl_lint.analysis.interpreter.conditions.tpu_tests import is_on_tpu
from trl_lint.analysis.interpreter.control_flow import left_together, numbers_by_rank, process_exits
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.interpreter.objects.flags_by_rank import restore_after_branch
from trl_lint.analysis.program.idioms import filled_slices, set_before
from trl_lint.analysis.program.idioms.path_conditions import alternatives, parts_of
from trl_lint.analysis.state.evaluated_conditions import EvaluatedConditions
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch, Exits
from trl_lint.analysis.transfer.data import data_sets
from trl_lint.analysis.transfer.models import paces
from trl_lint.analysis.transfer.processes import absences, chosen_numbers, first_rank, job_flags, one_process_branches
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.heap import Memory
from trl_lint.domain.model_roles import is_undecided, wrapping_of
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.provenance import LauncherVariable, NoneWhere, source_step
from trl_lint.domain.ranks import SETTING, Origin, Rank
from trl_lint.domain.values import Kind, Value, Wrapping


def run_body(frame: Frame, body: cst.BaseSuite) -> bool:
    return frame.engine.run_block(frame, body.body)


_Key = TypeVar("_Key", bound=Hashable)


@dataclass
class BranchEnd:
    """A branch of an `if`: its state at the end, and whether that is reached.

    Attributes:
        through: Whether the end is reached.
        exits: The number of exits by then.
        end: The number of synchronisation points by then.
        narrowed, of_self: The names that its condition narrows, and the attributes.
        data_sets: The data sets at its start, if the condition is on the rank.
        only_raises: Whether it ends the job without a synchronisation point before.
        names: The names at its end; `memory` is that after both branches later.
        attributes: The attributes at its end, if the condition is on the rank.
    """

    through: bool
    memory: Memory
    exits: int
    end: int
    narrowed: dict[str, Value]
    of_self: dict[tuple[Hashable, str], Value]
    data_sets: dict[str, Value]
    only_raises: bool
    names: Mapping[str, Value]
    attributes: Mapping[tuple[Hashable, str], Value]


def run_if(frame: Frame, node: cst.If) -> bool:
    engine_plugins.exclude_plugin_test(frame, node)
    test = own_tests.as_test(frame, node.test, evaluate(frame, node.test))
    known = _known(frame, node, test)
    if known is not None and not job_flags.runs_before_group(frame, node, known):
        return _decided(frame, node, known)
    before, exits, start = frame.memory, len(frame.exits), len(frame.sync_points)
    division = control_of_condition(frame, node.test, as_left_by_some(frame, node, test))
    conditions = frame.evaluated_conditions.copy() if engine_outcome(frame, node.test) is None else None
    inside = before.control.under(division)
    taken = _run_branch(frame, node, before, division, inside, True)
    if one_process_branches.leaves_one_process(frame, node):
        return join_branches(frame, ((taken.through, taken.memory),), inside, before.control, test.rank)
    skipped = _run_branch(frame, node, before, division, inside, False)
    both_end = taken.through and skipped.through
    if both_end:
        _widen_both(frame, before, node, (taken, skipped), conditions if len(frame.exits) == exits else None)
    set_on_some = _set_on_some_ranks(frame, taken.memory, skipped.memory) if both_end and division.rank.differs else []
    known_after = _known_after_branches(frame, node, taken.memory, skipped.memory) if both_end else ({}, {})
    if division.rank.differs:
        leaving = process_exits.exits_of_branches(frame, division.rank, exits, taken.exits)
        _report(frame, node, division, (start, taken.end, skipped.end), (taken.through, skipped.through), leaving)
    elif not (frame.loops or taken.only_raises or skipped.only_raises):
        for note in frame.observers.fork:
            note(frame, node.test, (start, taken.end, skipped.end), (taken.through, skipped.through))
    branches = ((taken.through, taken.memory), (skipped.through, skipped.memory))
    lacking = absences.lacking_after(frame, node, before, branches, division)
    of_some_ranks = _of_some_ranks(frame, node, (before, taken, skipped), division) if both_end else {}
    absent = _none_on_some_ranks(taken.memory, skipped.memory, division) if both_end else ()
    reduced_on_one = reduced_on_one_branch(frame, node, taken.memory, skipped.memory, test, division, both_end)
    after = before.control.under(division if len(frame.exits) > exits else UNIFORM)
    is_reached = join_branches(frame, branches, inside, after, test.rank)
    reduced_on_one.forget(frame.memory)
    frame.memory.names.update({**of_some_ranks, **known_after[0]})
    frame.memory.attributes.update(known_after[1])
    _note_differing(frame, node, absent, set_on_some, division, (before, taken, skipped))
    lacking.note(frame)
    if is_reached:
        _note_leader(frame, before.control, branches, (start, taken.end), division)
    return is_reached


def _known(frame: Frame, node: cst.If, test: Value) -> bool | None:
    """The result of a test, if it is known."""

    def of_part(part: cst.CSTNode) -> bool | None:
        value = frame.known_value(part)
        return None if value is None else truth(frame, value)

    known = truth(frame, test)
    known = set_before.decided(frame.root, node.test, of_part) if known is None else known
    known = refused_runs.decided(frame, node, evaluate) if known is None else known
    known = filled_slices.decided(frame.root, node.test) if known is None else known
    return False if known is None and one_process_branches.is_fallback(frame, node) else known


def _note_leader(
    frame: Frame,
    before: Control,
    branches: tuple[tuple[bool, Memory], ...],
    marks: tuple[int, int],
    division: Control,
) -> None:
    ends = [memory.control for reached, memory in branches if reached]
    waits = (frame.sync_points[marks[0] : marks[1]], frame.sync_points[marks[1] :])
    leader = first_rank.first_rank_after(before, ends, waits, division)
    frame.memory.control = frame.memory.control.with_first_rank(leader)


def _run_branch(
    frame: Frame, node: cst.If, before: Memory, division: Control, inside: Control, is_true: bool
) -> BranchEnd:
    """Run one branch of an `if`."""
    frame.memory = before.fork()
    is_other = engine_outcome(frame, node.test) is is_true or is_on_tpu(frame, node.test, is_true)
    frame.memory.control = inside.under_engine() if is_other else inside
    if not is_true:
        left_together.forget_those(frame, node)
    narrow(frame, node.test, is_true)
    if division.uniformity is Uniformity.DIVERGENT:
        narrowed = _narrowed(before, frame.memory)
    else:
        narrowed = wrapping_tests.changed(before, frame.memory) if frame.engine.wraps_on_one_path else {}
        narrowed |= _of_engine(before, frame.memory) if engine_outcome(frame, node.test) is is_true else {}
    of_self = _narrowed_models(before, frame.memory) if frame.engine.wraps_on_one_path else {}
    shown_wrapped = unwrapped_beside.shown_by_other_branch(frame, node, is_true)
    of_self_shown = unwrapped_beside.of_self_shown_by_other_branch(frame, node, is_true)
    frame.memory.names.update(shown_wrapped)
    frame.memory.attributes.update(of_self_shown)
    sets = data_sets.marked(frame.memory, narrowed) if division.rank.is_by_rank else {}
    start = (len(frame.exits), len(frame.sync_points))
    written = frame.objects.fork()
    through = run_body(frame, node.body) if is_true else run_else(frame, node.orelse, node.test)
    frame.objects.merge(written)
    end = (len(frame.exits), len(frame.sync_points))
    _widen(before.names, frame.memory.names, shown_wrapped)
    _widen(before.attributes, frame.memory.attributes, of_self_shown)
    if division.rank.is_by_rank:
        restore_after_branch(before.names, frame.memory.names)
    memory, only_raises = frame.memory, not through and start == end
    attributes = memory.attributes.copy() if division.rank.is_by_rank else {}
    return BranchEnd(through, memory, *end, narrowed, of_self, sets, only_raises, memory.names.copy(), attributes)


def _none_on_some_ranks(taken: Memory, skipped: Memory, division: Control) -> tuple[str, ...]:
    """The names that are None on the ranks that took one branch, if rank-local data decides on the branch."""
    if not division.rank.differs or division.rank.origins & ~(Origin.DATA | Origin.RNG):
        return ()
    return tuple(
        name
        for name, value in taken.names.items()
        if (other := skipped.names.get(name)) is not None and (value.kind is Kind.NONE) is not (other.kind is Kind.NONE)
    )


def _note_absent(frame: Frame, node: cst.If, names: tuple[str, ...], division: Control) -> None:
    for name in names:
        value = frame.memory.names[name]
        if value.rank.differs:
            text = "`{}` differs between ranks, and on some of them it stays None"
            provenance = NoneWhere(frame.module, node.test, text, value.provenance, rank=division.rank)
            frame.memory.names[name] = value.replace(provenance=provenance)


def _set_on_some_ranks(frame: Frame, taken: Memory, skipped: Memory) -> list[tuple[Hashable, str]]:
    """Numbers and flags of objects that only one branch assigns, on some of the ranks.

    if loss > self.best: self.stops = True

    The other ranks keep the previous value, so it is read here. A constructor has no previous value.
    """
    if frame.function is not None and frame.function.name == "__init__":
        return []
    found: list[tuple[Hashable, str]] = []
    for changed, other in ((skipped, taken), (taken, skipped)):
        frame.memory = other
        for key, value in changed.attributes.items():
            may_matter = (value.kind is Kind.NUMBER or value.rank == SETTING) and key not in other.attributes
            if may_matter and key in frame.objects.attribute_writes:
                frame.read_attribute(*key)
                found.append(key)
    return found


def _note_differing(
    frame: Frame,
    node: cst.If,
    absent: tuple[str, ...],
    set_on_some: list[tuple[Hashable, str]],
    division: Control,
    ways: tuple[Memory, BranchEnd, BranchEnd],
) -> None:
    """ways: the state before the branches, and both branches."""
    before, taken, skipped = ways
    _note_absent(frame, node, absent, division)
    chosen_numbers.note_attributes(frame, set_on_some, (taken.memory, skipped.memory), division)
    _note_set(frame, set_on_some, division)
    shared_unless_none.note(frame, absent, (taken.names, skipped.names))
    if taken.through and skipped.through:
        chosen_texts.note_after(frame, (taken.names, skipped.names), division.rank)
        started_or_none.note(frame, node, taken.memory, skipped.memory)
        chosen_numbers.note_after(frame, before, (taken.names, skipped.names), division)
        numbers_by_rank.note_changed(frame, before, taken.memory, skipped.memory, division, set_on_some)
        of_objects = (taken.attributes, skipped.attributes)
        flags_of_tests.note_after(frame, node.test, division, frame.memory.names, (taken.names, skipped.names))
        flags_of_tests.note_after(frame, node.test, division, frame.memory.attributes, of_objects)


def _note_set(frame: Frame, attributes: list[tuple[Hashable, str]], division: Control) -> None:
    for key in attributes:
        value = frame.memory.attributes[key]
        if value.rank.differs and value.provenance is None:
            frame.memory.attributes[key] = value.replace(provenance=division.provenance)


def _known_after_branches(
    frame: Frame, node: cst.If, taken: Memory, skipped: Memory
) -> tuple[dict[str, Value], dict[tuple[Hashable, str], Value]]:
    """The names and attributes that hold, on one branch only, a wrapped model, what is inside it, or what wraps it.

    And the flags that are off after both branches, and the tables that one of them makes longer.
    """
    others = skipped.names
    parted = {name: value for name, value in taken.names.items() if others.get(name, value) is not value}
    names: dict[str, Value] = {}
    if parted:
        names = wrapped_beside.inside_wrappers(frame, node, parted, others)
        names.update(wrapping_tests.divided(frame, node.test, parted, others))
        names.update(lists_of_models.divided(frame, node.test, taken, skipped, parted))
        names.update(defaults.divided(node.test, parted, others))
        names.update(one_or_list.divided(frame, node.test, taken, skipped, parted))
        names.update(loaders_with_sampler.divided(frame, node.test, parted, others))
        names.update(switched_off.off_after(frame, node, taken))
        names.update(grown_tables.names_after(node, taken, skipped))
    attributes = wrapped_beside.inside_wrappers(frame, node, taken.attributes, skipped.attributes)
    attributes.update(wrapping_tests.divided(frame, node.test, taken.attributes, skipped.attributes))
    attributes.update(grown_tables.attributes_after(node, taken, skipped))
    return names, attributes


def _of_some_ranks(
    frame: Frame, node: cst.If, ways: tuple[Memory, BranchEnd, BranchEnd], division: Control
) -> dict[str, Value]:
    """The data sets that some ranks have shortened, and the names that all have set alike. ways: as above."""
    before, taken, skipped = ways
    branches = ((taken.memory, taken.data_sets), (skipped.memory, skipped.data_sets))
    alike = set_alike.names_after(frame, node, before.names, taken.names, division)
    return {**data_sets.of_some_ranks(before, branches, division), **alike}


def _report(
    frame: Frame,
    node: cst.If,
    division: Control,
    marks: tuple[int, int, int],
    through: tuple[bool, bool],
    exits: tuple[Exits, Exits],
) -> None:
    parts = (part for each in parts_of(node.test) for part in alternatives(each))
    values = (frame.known_value(part) for part in (node.test, *parts))
    asks_rank = any(value is not None and single_process_value(value) is not None for value in values)
    asks_rank |= division.rank.origins == Origin.RANK and isinstance(source_step(division.provenance), LauncherVariable)
    # Another branch of a condition around this one may be that of the other ranks of a group.
    around = (each for each in frame.memory.control.conditions if each.provenance is not division.provenance)
    branch = Branch(
        node.test,
        division.provenance,
        marks,
        through,
        exits,
        division.rank.origins,
        asks_rank=asks_rank,
        of_one=None if any(each.is_chosen_by_rank for each in around) else branch_of_one_rank(frame, node.test),
    )
    for observe in frame.observers.branch:
        observe(frame, branch)


def _narrowed(before: Memory, memory: Memory) -> dict[str, Value]:
    """The names that the condition of a branch has narrowed."""
    return {name: value for name, value in memory.names.items() if before.names.get(name) is not value}


def _of_engine(before: Memory, memory: Memory) -> dict[str, Value]:
    """The models that a test for an engine has narrowed: after both branches, DDP may wrap them as before."""
    narrowed = _narrowed(before, memory)
    return {
        name: value
        for name, value in narrowed.items()
        if value.kind is Kind.MODEL and value.wrapping is Wrapping.UNKNOWN and name in before.names
    }


def _widen_both(
    frame: Frame,
    before: Memory,
    node: cst.If,
    ends: tuple[BranchEnd, BranchEnd],
    conditions: EvaluatedConditions | None,
) -> None:
    """Undo what a condition narrowed where both of its branches end.

    conditions: those evaluated before, if no rank has left and the test is not for an engine: what this one decides
    about, it decides in its branches.
    """
    taken, skipped = ends
    narrowed = _only_narrowed(taken, skipped, node.orelse), _only_narrowed(skipped, taken, node.body)
    _widen(before.names, taken.memory.names, narrowed[0])
    _widen(before.names, skipped.memory.names, narrowed[1])
    if conditions is None:
        return
    frame.evaluated_conditions = conditions
    for key in {**taken.of_self, **skipped.of_self}:
        kept = before.attributes.get(key)
        if all(each.memory.attributes.get(key) is each.of_self.get(key, kept) for each in ends):
            for each in ends:  # neither branch has assigned it
                _restore(each.memory.attributes, key, kept)


def _narrowed_models(before: Memory, memory: Memory) -> dict[tuple[Hashable, str], Value]:
    """The attributes with models that the condition of a branch has narrowed, if wrapped on one way, or read."""
    return {
        key: value
        for key, value in memory.attributes.items()
        if value.kind is Kind.MODEL
        and (kept := before.attributes.get(key)) is not value
        and (kept is None or is_undecided(kept))
    }


def _restore(attributes: dict[tuple[Hashable, str], Value], key: tuple[Hashable, str], value: Value | None) -> None:
    if value is None:
        attributes.pop(key, None)
    else:
        attributes[key] = value


def _only_narrowed(arm: BranchEnd, other: BranchEnd, code: cst.CSTNode | None) -> dict[str, Value]:
    """The names narrowed by the condition of a branch, except models that the other branch unwraps.

    For these the narrowing still matters: after `if args.distributed: model = model.module` neither branch has a
    wrapper, nor after `if inner is not None: model = inner`. code: the body of the other branch.
    """
    names = other.memory.names
    rebound = {name for name, value in other.narrowed.items() if names.get(name) is not value}
    if rebound and code is not None:
        taken_off = {name for name in rebound if name in names and wrapping_of(names[name]) is Wrapping.UNWRAPPED}
        rebound &= taken_off | unwrapped_beside.names_unwrapped(code)
    return {name: value for name, value in arm.narrowed.items() if value.kind is not Kind.MODEL or name not in rebound}


def _widen(before: Mapping[_Key, Value], values: dict[_Key, Value], narrowed: Mapping[_Key, Value]) -> None:
    """Undo at the end of a branch what its condition narrowed: these names have not been assigned."""
    for name, value in narrowed.items():
        if values.get(name) is not value:
            continue
        if name in before:
            values[name] = before[name]
        else:  # of an enclosing function, or read in the branch
            del values[name]


def join_branches(
    frame: Frame, branches: tuple[tuple[bool, Memory], ...], inside: Control, after: Control, divided: Rank
) -> bool:
    """Set the state after a branch: the join of the branches whose end is reached. Returns whether there is one."""
    reached: Memory | None = None
    for through, memory in branches:
        if through:
            if len(memory.control.conditions) > len(inside.conditions):
                after = after.under(memory.control)  # some ranks have left under conditions inside the branch
            reached = memory if reached is None else reached.merge(memory, divided)
    if reached is None:
        return False
    ends = [memory.control for through, memory in branches if through]
    after = after.once_others_failed(all(each.others_failed for each in ends))
    reached.control = paces.after_branches(after, ends)
    frame.memory = reached
    return True


def _decided(frame: Frame, node: cst.If, known: bool) -> bool:
    job_flags.note_decided(frame, node)
    if known:
        return run_body(frame, node.body)
    return run_else(frame, node.orelse)


def run_else(frame: Frame, orelse: cst.If | cst.Else | None, test: cst.BaseExpression | None = None) -> bool:
    if orelse is None:
        return True
    if isinstance(orelse, cst.If) and not (test is not None and other_ranks(frame, test, orelse.test)):
        return run_if(frame, orelse)
    return run_body(frame, orelse.body)
