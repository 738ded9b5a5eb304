"""Meetings: the calls at which all ranks have to come together, in order, and the conditions that part them.

Each run of a function lists its meetings in program order, those of its callees included, and the branches that
the ranks may take differently. At its end the sequences of the two ways through each branch are compared, as
PARCOACH does for MPI: ways with the same sequence are right code, else the first meeting that one of them lacks
is told to the rules. A way that leaves early (`return`, `break`, `continue`) lacks all that comes after the branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import libcst as cst

from trl_lint.analysis.events import Parted, steps
from trl_lint.analysis.observers import preprocessing
from trl_lint.analysis.program.syntax import below
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge.heuristics import MAY_SYNCHRONISE
from trl_lint.knowledge.meetings import EVERYWHERE, GROUP_KEYWORDS, GROUPS, MEETS
from trl_lint.knowledge.schema import Collective

# How many meetings of one call are kept.
_MAX_PASSED = 12
# A call of code out of sight that may meet the others.
_HIDDEN = "?"
# Why the outcome of a look at the disk may part the ranks. What a setting or a parameter names is there for all of
# them or for none, as a rule, and so is what they have agreed on before.
OWN_FILE = "each rank looks for a file of its own making"


class Meeting:
    """One call at which all ranks meet.

    kind: meetings of one kind match each other. needs: "" or "sharded". certain: whether it is known that the
    call meets (a helper may do so under a condition only). via: where it happens, if a helper does it.
    subgroup: whether it is told which ranks take part. alike: whether every rank may make the call wherever one does.
    """

    __slots__ = ("alike", "certain", "control", "kind", "name", "needs", "node", "subgroup", "unroll_index", "via")

    def __init__(
        self,
        frame: Frame,
        node: cst.CSTNode,
        name: str,
        kind: str,
        needs: str = "",
        subgroup: bool = False,
        alike: bool = False,
    ) -> None:
        self.node = node
        self.name = name
        self.kind = kind
        self.needs = needs
        self.subgroup = subgroup
        self.alike = alike
        self.control: Control = frame.memory.control
        self.unroll_index = frame.unroll_index
        self.certain = True
        self.via: Step | None = None


class Branch:
    """A place where ranks may go different ways.

    arms: the meetings of its two ways. through: which of them reach its end. leaves: which may also leave.
    origins: what the condition differs by. turns: one rank after the other goes the first way.
    tried: the body of the `try` whose exceptions lead the first way.
    """

    __slots__ = ("arms", "leaves", "origins", "test", "through", "tried", "turns", "unroll_index", "why")

    def __init__(
        self,
        test: cst.CSTNode,
        why: Step,
        arms: tuple[Sequence[Meeting], Sequence[Meeting]],
        through: tuple[bool, bool],
        leaves: tuple[bool, bool],
        unroll_index: tuple[int, ...],
        origins: Origin,
        turns: bool,
        tried: Any,
    ) -> None:
        self.test = test
        self.why = why
        self.arms = arms
        self.through = through
        self.leaves = leaves
        self.unroll_index = unroll_index
        self.origins = origins
        self.turns = turns
        self.tried = tried


# --- what a run notes -----------------------------------------------------------------------------------


def called(frame: Frame, name: str, node: cst.CSTNode) -> None:
    """A function of a library is called: does it contain a meeting?"""
    meets = MEETS.get(name)
    if meets is not None:
        own = name.rpartition(".")[2]
        frame.sync_points.append(Meeting(frame, node, own, meets.kind, meets.needs, alike=meets.alike))


def communicated(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> None:
    """A collective is called."""
    own = row.name.rpartition(".")[2]
    subgroup = any(group.kind is not Kind.NONE for group in groups_of(row, args))
    alike = row.into is None and not subgroup
    frame.sync_points.append(Meeting(frame, node, own, row.result or own, subgroup=subgroup, alike=alike))


def groups_of(row: Collective, args: Arguments) -> list[Value]:
    """The process groups that a collective is given."""
    own = row.name.rpartition(".")[2]
    position = GROUPS.get(own, -1) if row.name.startswith("torch.distributed.") else -1
    groups = [args.keywords[name] for name in GROUP_KEYWORDS if name in args.keywords]
    if 0 <= position < len(args.positional):
        groups.append(args.positional[position])
    return groups


def forwarded(frame: Frame, model: Any, node: cst.CSTNode) -> None:
    """A wrapped model is called: DDP broadcasts its buffers and gets ready to reduce its gradients."""
    if model.kind is not Kind.MODEL or model.wrapping is Wrapping.WRAPPED:
        frame.sync_points.append(Meeting(frame, node, "forward", "forward"))


def hidden(frame: Frame, node: cst.CSTNode) -> None:
    """Code out of sight is called."""
    func = getattr(node, "func", None)
    name = func.attr if isinstance(func, cst.Attribute) else func
    if isinstance(name, cst.Name) and MAY_SYNCHRONISE.fits(name.value):
        frame.sync_points.append(Meeting(frame, node, name.value, _HIDDEN))


def passed_on(frame: Frame, meetings: Sequence[Meeting], function: Any, entry: Control, node: cst.CSTNode) -> None:
    """A function in sight was called, in which ranks meet."""
    copies = []
    for meeting in meetings[:_MAX_PASSED]:
        copy = Meeting(frame, node, meeting.name, meeting.kind, meeting.needs, meeting.subgroup, meeting.alike)
        copy.certain = meeting.certain and not _own(meeting.control, entry) and not meeting.control.engine
        text = f"`{meeting.name}` is called in `{function.name}`" if meeting.via is None else f"in `{function.name}`"
        copy.via = Step(function.module, meeting.node, text, meeting.via)
        frame.sync_points.append(copy)
        copies.append(copy)
    preprocessing.waited(frame, copies)


def branched(
    frame: Frame,
    test: cst.CSTNode,
    why: Any,
    marks: tuple[int, int, int],
    through: tuple[bool, bool],
    leaves: tuple[bool, bool] = (False, False),
    origins: Origin = Origin.NONE,
    turns: bool = False,
    tried: Any = None,
) -> None:
    """The ranks went different ways: the meetings from the first mark to the second, and from there to the third."""
    if origins == Origin.IO and steps(why)[0].text != OWN_FILE:
        return
    first, second, end = marks
    arms = (frame.sync_points[first:second], frame.sync_points[second:end])
    branch = Branch(test, why, arms, through, leaves, frame.unroll_index, origins, turns, tried)
    frame.branches[(id(test), frame.unroll_index)] = branch


def chosen(frame: Frame, test: cst.CSTNode, value: Value, marks: tuple[int, int]) -> None:
    """A part of an expression is evaluated only if `test` says so: the meetings from a mark on, or from the next."""
    end = len(frame.sync_points)
    if value.rank.differs and end > marks[0]:
        why = frame.step(test, "`{}` differs between ranks", value.why)
        branched(frame, test, why, (*marks, end), (True, True), origins=value.rank.origins)


def parts_ranks(handler: Any) -> bool:
    """Whether what an `except` clause catches may be raised on some ranks only."""
    kind = handler.type
    if kind is None:
        return True
    named = [element.value for element in kind.elements] if isinstance(kind, cst.Tuple) else [kind]
    own = {each.attr.value if isinstance(each, cst.Attribute) else getattr(each, "value", "") for each in named}
    return not own & EVERYWHERE and "" not in own


def _works_on_own_data(frame: Frame, body: Any) -> bool:
    """Whether some value in the body of a `try` differs between ranks, so that it may raise on some of them."""
    return any(frame.node_values[id(node)].rank.differs for node in below(body) if id(node) in frame.node_values)


# --- what comes of it -----------------------------------------------------------------------------------


def judge(frame: Frame, entry: Control, decorated: Control) -> None:
    """At the end of a run: tell the rules of each branch whose two ways do not meet the same."""
    if not frame.sync_points:
        return
    told: set[int] = set()
    if decorated.uniformity is Uniformity.DIVERGENT and entry.uniformity is Uniformity.UNIFORM:
        _tell_decorated(frame, decorated, told)
    partings = [parting for branch in frame.branches.values() if (parting := _parting(frame, branch)) is not None]
    for parting in partings:
        in_arm = parting.in_arm
        if (in_arm and id(parting.meeting.node) in told) or any(_makes_up_for(frame, parting, o) for o in partings):
            continue
        branch = parting.branch
        if in_arm:
            told.update(id(each.node) for arm in branch.arms for each in arm)
        frame.emit(
            Parted,
            parting.meeting.node if in_arm else branch.test,
            tag=id(branch.test),
            condition=branch.why,
            meeting=parting.meeting,
            after=not in_arm,
            turns=branch.turns,
            origins=branch.origins,
            lacked=_missed(frame, parting),
            knows_sharding=_knows_sharding(frame),
            seen=frame.node_values,
        )


def _tell_decorated(frame: Frame, decorated: Control, told: set[int]) -> None:
    meeting = next((each for each in frame.sync_points if _counts(each, decorated.rank.origins)), None)
    if meeting is not None:
        told.update(id(each.node) for each in frame.sync_points)
        frame.emit(
            Parted, meeting.node, condition=decorated.why, meeting=meeting, knows_sharding=_knows_sharding(frame)
        )


class Parting(NamedTuple):
    """A branch whose two ways do not meet the same, the first meeting that is lacked, and whether it is in an arm."""

    branch: Branch
    meeting: Meeting
    in_arm: bool


def _parting(frame: Frame, branch: Branch) -> Parting | None:
    inside = {id(meeting) for arm in branch.arms for meeting in arm}
    rest = [each for each in frame.sync_points if id(each) not in inside and _comes_after(each, branch)]
    ways = [list(arm) for arm in branch.arms]
    if any(branch.leaves) and any(branch.through):
        # A way that leaves lacks what comes after the branch; one that only may leave is asked as if it did.
        staying = branch.through.index(True) if not all(branch.through) else branch.leaves.index(True) ^ 1
        ways[staying] += rest
    found = _first_unmatched(ways[0], ways[1], branch)
    if found is None or (branch.tried is not None and not _works_on_own_data(frame, branch.tried)):
        return None
    return Parting(branch, found, id(found) in inside)


def _makes_up_for(frame: Frame, one: Parting, other: Parting) -> bool:
    """Whether the ranks that one branch leaves out meet the others at another: `if not main: barrier()` twice."""
    if other.branch is one.branch or not (one.in_arm and other.in_arm):
        return False
    if other.meeting.kind != one.meeting.kind or not _is_guard(one.branch) or not _is_guard(other.branch):
        return False
    code_for_node = frame.module.tree.code_for_node
    return code_for_node(one.branch.test) != code_for_node(other.branch.test)


def _is_guard(branch: Branch) -> bool:
    return branch.origins == Origin.RANK and not any(branch.leaves) and not all(branch.arms)


def _knows_sharding(frame: Frame) -> bool:
    """Whether a function takes care of sharded parameters: it asks, or says, what shards them, or it gathers them."""
    return frame.asks_for_engine or any(each.kind == "parameters" for each in frame.sync_points)


def _missed(frame: Frame, parting: Parting) -> tuple[Meeting, ...]:
    """All meetings that ranks may not come to because of a branch, if one of its ways has none."""
    branch = parting.branch
    if all(branch.arms):
        return ()
    arms = tuple(meeting for arm in branch.arms for meeting in arm)
    if not any(branch.leaves):
        return arms
    inside = {id(meeting) for meeting in arms}
    return (*arms, *(each for each in frame.sync_points if id(each) not in inside and _comes_after(each, branch)))


def _first_unmatched(one: Sequence[Meeting], other: Sequence[Meeting], branch: Branch) -> Meeting | None:
    """The first meeting that one of two ways has and the other has not, if it is certain that it lacks it."""
    if any(meeting.kind == _HIDDEN for meeting in (*one, *other)):
        seen, opposite = _without_hidden(one, other), _without_hidden(other, one)
        if seen is None or opposite is None:
            return None
        one, other = seen, opposite
    if branch.turns:
        return next((each for each in one if each.kind != "barrier" and each.certain), None)
    start = 0
    while start < min(len(one), len(other)) and one[start].kind == other[start].kind:
        start += 1
    lacking = [
        meeting
        for way, against in ((one[start:], other[start:]), (other[start:], one[start:]))
        for meeting in _lacked(way, against)
        if _counts(meeting, branch.origins)
    ]
    return min(lacking, key=lambda meeting: bool(meeting.needs), default=None)


def _lacked(way: Sequence[Meeting], against: Sequence[Meeting]) -> Iterator[Meeting]:
    """The meetings of a way that the other way has not; those in another order are not counted."""
    kinds = [each.kind for each in against]
    for meeting in way:
        if meeting.kind in kinds:
            kinds.remove(meeting.kind)
        else:
            yield meeting


def _without_hidden(way: Sequence[Meeting], against: Sequence[Meeting]) -> list[Meeting] | None:
    """A way less the calls that are not in sight; None if the other way's meetings may happen in these."""
    known = [meeting for meeting in way if meeting.kind != _HIDDEN]
    hidden_here = len(known) < len(way)
    more = sum(meeting.kind != _HIDDEN for meeting in against) > len(known)
    return None if hidden_here and more else known


def _counts(meeting: Meeting, origins: Origin) -> bool:
    """Whether it is known that all ranks meet there: a rank may be asked whether it belongs to a group."""
    if meeting.subgroup and Origin.RANK in origins:
        return False
    return meeting.certain and meeting.kind != _HIDDEN


def _comes_after(meeting: Meeting, branch: Branch) -> bool:
    """Whether a meeting is reached past the branch: the branch is one of the conditions of its place."""
    if meeting.unroll_index[: len(branch.unroll_index)] != branch.unroll_index:
        return False
    return any(_place(each) is branch.test for each in meeting.control.conditions)


def _place(condition: Control) -> Any:
    return condition.why.node if condition.why is not None else None


def _own(control: Control, entry: Control) -> Iterable[Control]:
    """The conditions that the function itself sets up."""
    outer = {id(_place(each)) for each in entry.conditions}
    return [each for each in control.conditions if id(_place(each)) not in outer]
