"""Data sets: who computes and caches them, and which ranks have the first turn at it."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import libcst as cst

from trl_lint.analysis.events import DatasetParted, DatasetPrepared
from trl_lint.analysis.program.objects import FunctionValue, ProjectInstance
from trl_lint.analysis.program.syntax import below
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Turn, Uniformity
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import BoundMethod, FirstRankContext, IterableValue, library_name_of
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.backends import SPREADING
from trl_lint.knowledge.datasets import DATASET, STREAM, STREAM_CLASSES, is_dataset
from trl_lint.knowledge.heuristics import MAY_WAIT

if TYPE_CHECKING:
    from trl_lint.analysis.program.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.knowledge.schema import Function as FunctionRow
    from trl_lint.knowledge.schema import Preparation

IN_TURN = "one rank after the other runs what is inside"
# A turn that two barriers make: some ranks wait in one of them, the others come to theirs when they are done.
BARRIER = "barrier"
# A script that makes one of these is run by every rank.
_STARTS = frozenset({"accelerate.Accelerator", "torch.distributed.init_process_group"})


def narrowed(value: Value, classes: Collection[str]) -> Value:
    """A data set that is an instance of classes of these names: if all of them stream, it computes nothing now."""
    return STREAM if classes and STREAM_CLASSES.issuperset(classes) else value


def annotated(options: Iterable[Value | None]) -> Value | None:
    """What one of several annotated types says: a data set is one where it may be."""
    return DATASET if any(library_name_of(option) == DATASET.name for option in options) else None


def marked(memory: Memory, narrowed: Container[str]) -> dict[str, Value]:
    """The data sets at the start of an arm, as objects of their own: what is not one of them at its end is new.

    narrowed: the names of which the arm's condition says more.
    """
    names = memory.names.items()
    known = {name: value.but(why=value.why) for name, value in names if is_dataset(value) and name not in narrowed}
    memory.names.update(known)
    return known


def parted(
    before: Memory, arms: tuple[tuple[Memory, dict[str, Value]], tuple[Memory, dict[str, Value]]], division: Control
) -> dict[str, Value]:
    """The data sets as they are behind a condition on the rank: those that only one of its arms has made anew.

    They are others on some ranks, unless those that have had no turn at it have it at a second such condition. What
    both arms have kept is what it was before, so that a condition in an arm of another one (`elif`) makes nothing new.
    """
    (taken, known), (skipped, known_else) = arms
    found = {}
    for name in known.keys() & known_else.keys():
        kept, kept_else = taken.names.get(name) is known[name], skipped.names.get(name) is known_else[name]
        if kept is kept_else:
            if kept:
                found[name] = before.names[name]
            continue
        new = (skipped if kept else taken).names.get(name)
        if new is not None and new.kind is not Kind.NONE:
            first = not known[name].rank.differs
            found[name] = DATASET.but(rank=ranks.RANK_LOCAL, why=division.why) if first else DATASET
    return found


# What a trainer goes through on every rank.
_GONE_THROUGH = ("eval_dataset", "train_dataset")


def handed_over(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """A trainer is made: tell the rules if the ranks give it different data sets."""
    for name in _GONE_THROUGH:
        value = args.keywords.get(name, UNKNOWN)
        why = value.why
        if why is None or not is_dataset(value) or value.rank != ranks.RANK_LOCAL or why.module is not frame.module:
            continue
        handed = frame.step(node, f"every rank goes through its own `{name}` here")
        frame.emit(DatasetParted, why.node, tag=name, condition=why, handed=handed, name=name)


def tell(frame: Frame, row: Preparation, args: Arguments, node: cst.CSTNode, owner: Value | None) -> None:
    """A data set is computed: tell the rules, unless each rank has one of its own or no file is shared."""
    if owner is None or owner.rank.state is not State.SAME or args.rank().differs or args.star is not None:
        return
    if _computed_before(frame, node):
        return
    work = args.get(*row.work)
    if work is None or work.kind is Kind.NONE:
        return
    if any(args.keywords.get(name, DATASET).const is keeps for name, keeps in row.uncached.items()):
        return
    frame.emit(
        DatasetPrepared,
        node,
        method=row.name.rpartition(".")[2],
        turn=frame.memory.control.turn,
        in_trainer=_in_trainer(frame),
        holds_trainer=_holds_trainer(frame, work),
        accelerator=frame.accelerator(),
    )


def _computed_before(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether some ranks alone have computed the same before, by the same code, so that there is a file to read."""
    code = frame.module.tree.code_for_node(node)
    control = frame.memory.control
    if control.uniformity is Uniformity.DIVERGENT and control.rank.origins == Origin.RANK:
        frame.computed_apart.add(code)
        return False
    return code in frame.computed_apart


def drawn(row: FunctionRow, args: Arguments, owner: Value | None, value: Value) -> Value:
    """A data set as the ranks have it once it was shuffled: whether alike is not known where no seed was given.

    Its fingerprint, which names the cache files of what is computed of it, is drawn as well.
    """
    if not is_dataset(value):
        return value
    apart = owner is not None and is_dataset(owner) and owner.rank.state is State.UNKNOWN
    seeds = [args.get(*seed) for seed in row.seeds]
    unseeded = bool(row.seeds) and all(seed is None or seed.kind is Kind.NONE for seed in seeds)
    in_order = (ordered := args.keywords.get("shuffle")) is not None and ordered.const is False
    is_drawn = unseeded and not in_order and args.double is None and args.star is None
    return value.but(rank=ranks.UNKNOWN) if apart or is_drawn else value


def _holds_trainer(frame: Frame, work: Value) -> bool:
    """Whether a function is a method of an object with an Accelerator, or reads such an object from around it."""
    if isinstance(work, BoundMethod):
        return frame.has_accelerator(work.owner)
    if not isinstance(work, FunctionValue) or work.function.closure is None:
        return False
    read = {node.value for node in below(work.function.node) if isinstance(node, cst.Name)}
    return any(frame.has_accelerator(value) for name, value in frame.memory.names.items() if name in read)


def _in_trainer(frame: Frame) -> bool:
    scope: Frame | None = frame
    while scope is not None:
        if scope.cls is not None:
            return frame.engine.is_entry_class(scope.cls)
        scope = scope.outer
    return False


def note_start(frame: Frame, name: str, args: Arguments) -> None:
    """Something is made by which a script shows that every rank runs it, or that there is only one."""
    frame.module.one_process |= _spreads(args)
    if name in _STARTS or library.is_subclass(name, "transformers.Trainer"):
        frame.module.starts = True


def _spreads(args: Arguments) -> bool:
    """Whether a model is loaded onto all GPUs at once: Accelerate refuses to train such a one on several ranks."""
    where = args.keywords.get("device_map")
    return where is not None and isinstance(where.const, str) and where.const in SPREADING


# --- turns --------------------------------------------------------------------------------------------------------


def inside(frame: Frame, node: cst.With, before: Control) -> Control:
    """How sure it is that all ranks get into the block of a `with` statement together, and in which turns."""
    control = before
    for item in node.items:
        scope = _scope(frame, item.item)
        if not scope:
            continue
        if scope != "unknown":
            why = frame.step(node, IN_TURN)
            control = control.under(Control(Uniformity.DIVERGENT, why))
        control = control.taking(Turn(scope, item, frame.module))
    return control


def has_turns(frame: Frame, node: cst.With) -> bool:
    """Whether one rank after the other is known to run the block of a `with` statement."""
    return any(_scope(frame, item.item) not in ("", "unknown") for item in node.items)


def _scope(frame: Frame, item: Any) -> str:
    calls = (item.body, item.orelse) if isinstance(item, cst.IfExp) else (item,)
    return next((frame.first_rank_calls[id(each)] for each in calls if id(each) in frame.first_rank_calls), "")


def note_unknown(frame: Frame, item: Any, value: Value) -> None:
    """A context manager that a name stands for may let one rank go first, and so may one that is not in sight."""
    if _scope(frame, item):
        return
    scope = value.scope if isinstance(value, FirstRankContext) else ""
    is_own = isinstance(value, ProjectInstance)
    is_named = isinstance(value, IterableValue) and not isinstance(item, cst.Call)
    if scope or is_own or is_named or (value.rank.state is State.UNKNOWN and value.kind is Kind.UNKNOWN):
        frame.first_rank_calls[id(item)] = scope or "unknown"


def after(before: Control, now: Control, inner: Control) -> Control:
    """How sure it is that all ranks get behind a block that was entered with `inner`, and is left with `now`."""
    if now is inner or inner.uniformity > before.uniformity:
        return before
    return now.where(now.engine, before.grad, before.whole, before.turn)


def behind(before: Control, arms: Iterable[Control], waits: tuple[Sequence[Any], Sequence[Any]], test: Control) -> Any:
    """Who has the first turn behind an `if` with this division of the ranks.

    arms: how its arms end, those that reach the end. waits: the meetings of the two ways.
    """
    by_rank = test.uniformity is Uniformity.UNKNOWN or Origin.RANK in test.rank.origins
    if test.uniformity and by_rank and sum(_barriers(way) for way in waits) % 2:
        return _toggled(before)
    return next((arm.turn for arm in arms if arm.turn is not before.turn), before.turn)


def waited(frame: Frame, meetings: Sequence[Any]) -> None:
    """A function in sight was called, in which these are the meetings."""
    if _barriers(each for each in meetings if not each.certain) % 2:
        frame.memory.control = frame.memory.control.in_turn(_toggled(frame.memory.control))


def _barriers(meetings: Iterable[Any]) -> int:
    return sum(each.kind == "barrier" or (each.kind == "?" and MAY_WAIT.fits(each.name)) for each in meetings)


def _toggled(before: Control) -> Turn | None:
    """The turn that begins with a barrier of some ranks alone, or ends with that of the others."""
    if before.turn is None:
        return Turn(BARRIER, None, None)
    return None if before.turn.scope == BARRIER else before.turn


def note_manager(frame: Frame, function: FunctionInfo, entry: Control) -> None:
    """A context manager in sight yields: in turns, if it does so in another one's block or meets the other ranks."""
    if frame.turn is not None and frame.turn is not entry.turn:
        function.takes_turns = "job" if frame.turn.scope == BARRIER else frame.turn.scope
    elif frame.meets:
        function.takes_turns = "job"


def turn_key(control: Control) -> Any:
    """What tells the turns of two calls of a function apart."""
    turn = control.turn
    # Only of one rank per node it is told where that is said.
    return None if turn is None else (turn.scope, id(turn.node) if turn.scope == "node" else None)
