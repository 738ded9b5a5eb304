"""Code that asks whether there is a process group before the program starts it: each process takes itself for the only
one.

def main():
    if is_main_process():                     `not is_initialized() or get_rank() == 0`: true on all ranks, here
        wandb.init()                          so all of them start a run
    rank = get_rank()                         0 on all ranks; `rank == 0` stays true below
    dist.init_process_group("nccl")           the same for a function that does this
    if is_main_process(): …                   true on one rank

torch raises where a group is started that is there already. So there is none before a start that all ranks get to. Not
followed: starts that are only made if there is no group, or under a condition that does not ask for several processes,
starts in a loop, and what Accelerate or a trainer starts, which take a group that they find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches, ifs_around
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    below,
    keyword_value,
    last_name,
    names_in,
    of_class,
    precedes,
    resolved,
)
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.transfer.processes.job_flags import asks_for_several
from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_FALSE, WORLD_TRUE, GivenNumber
from trl_lint.domain.kinds import LibraryName, NumberValue, ProjectName, flag
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.provenance import StartedLater
from trl_lint.domain.values import Value
from trl_lint.knowledge.launcher_variables import REQUIRED_VARIABLES
from trl_lint.knowledge.process_starts import (
    ASK_FOR_GROUP,
    CALLED_BY_EACH,
    DISTINCT_STARTS,
    END_GROUP,
    START_PROCESSES,
    STARTED_ONCE,
)
from trl_lint.knowledge.python import ENVIRONMENT

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.frame import Frame

# How many calls lead from a function to the start of the group, or to the question for one.
_DEPTH = 4
# What may start a group, or take the one that is there: only a start that comes before all of these is the first.
_CLASSES = frozenset(name for each in CALLED_BY_EACH if (name := each.rpartition(".")[2])[0].isupper())
MAY_START = DISTINCT_STARTS | _CLASSES | START_PROCESSES | END_GROUP


class AskedEarly:
    """The questions of a file that are asked before the group is started, with the call that starts it, by their ids.

    Questions for the rank that stand for a name count as the name.
    """

    def __init__(self) -> None:
        self.starts: dict[int, cst.CSTNode] = {}


def as_asked(frame: Frame, node: cst.BaseExpression, value: Value) -> Value:
    """The value of an expression, which is that on one process if there is no process group yet."""
    alone = single_process_value(value)
    if alone is None or not value.rank.is_by_rank or not _asks_for_group(frame, node):
        return value
    start = _start_after(frame, node)
    if start is None or _is_given(frame.root, node, start):
        return value
    frame.module.notes.of(AskedEarly).starts[id(node)] = start
    frame.engine.note_stored(AskedEarly, frame.module, node)
    if value.dtype == "bool":
        return flag(WORLD_TRUE if alone.value else WORLD_FALSE)
    return NumberValue(ranks.SAME, const=GivenNumber(alone.value), scalar=True, dtype="int")


def start_after_condition(frame: Frame, node: cst.CSTNode) -> StartedLater | None:
    """The start of the group, if a condition around a place asks too early, so that all ranks pass it."""
    starts = frame.module.notes.of(AskedEarly).starts
    for branch, _ in ifs_around(frame.root, node) if starts else ():
        for part in (each for each in below(branch.test) if isinstance(each, cst.BaseExpression)):
            start = starts.get(id(part)) or starts.get(id(resolved(frame.root, part)))
            if start is not None:
                test = frame.module.tree.code_for_node(branch.test)
                text = f"the process group is started only here, and `{test}` holds on all ranks, as it asks before"
                return StartedLater(frame.module, start, text)
    return None


# --- the question ---------------------------------------------------------------------------------------


def _asks_for_group(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression asks if there is a group, itself or in functions that it calls, and not the launcher."""
    names = {each for code in _code_of(frame, node) for each in _words(code)}
    return not names.isdisjoint(ASK_FOR_GROUP) and names.isdisjoint(_LAUNCHER)


_LAUNCHER = ENVIRONMENT | REQUIRED_VARIABLES


def _words(code: cst.CSTNode) -> Iterator[str]:
    yield from names_in(code)
    yield from (each.raw_value for each in of_class(code, cst.SimpleString))


def _code_of(frame: Frame, node: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """An expression, what its names stand for, and the functions that these call."""
    yield node
    asked = [node, *(value for each in of_class(node, cst.Name) if (value := resolved(frame.root, each)) is not each)]
    yield from asked[1:]
    for each in asked:
        for call in calls_in(each):
            function = function_called(frame, frame.module, call, in_frame=True)
            if function is not None:
                yield from with_callees(frame, function, _DEPTH)


def with_callees(frame: Frame, function: FunctionInfo, depth: int) -> Iterator[cst.CSTNode]:
    yield function.node
    for call in calls_in(function.node) if depth else ():
        called = function_called(frame, function.module, call)
        if called is not None and called is not function:
            yield from with_callees(frame, called, depth - 1)


def calls_in(code: cst.CSTNode) -> list[cst.Call]:
    return [*([code] if isinstance(code, cst.Call) else ()), *of_class(code, cst.Call)]


def function_called(frame: Frame, module: Module, call: cst.Call, *, in_frame: bool = False) -> FunctionInfo | None:
    """The function of the project that a call runs, by its name, or as that of a module."""
    value = _named(frame, module, call.func, in_frame)
    return value.function if isinstance(value, FunctionValue) else None


def _named(frame: Frame, module: Module, callee: cst.BaseExpression, in_frame: bool) -> Value | None:
    match callee:
        case cst.Name(name):
            engine = frame.engine
            known = engine.lookup(frame, name) if in_frame else engine.global_name(module, name)
            return None if known is None else engine.settle(known)
        case cst.Attribute(value=owner, attr=cst.Name(name)):
            receiver = _named(frame, module, owner, in_frame)
            if isinstance(receiver, (LibraryName, ProjectName)):
                return frame.engine.member(receiver, name)
    return None


# --- the start ------------------------------------------------------------------------------------------


def _start_after(frame: Frame, node: cst.CSTNode) -> cst.Call | None:
    """The call after a place by which all ranks start the group; None if there is none, or a start before it."""
    root = frame.root
    calls = [each for each in of_class(root, cst.Call) if each is not node]
    after = [each for each in calls if precedes(root, node, each)]
    start = next((each for each in after if _is_reached(root, node, each) and _starts(frame, each)), None)
    if start is None:
        return None
    before = (each for each in calls if not precedes(root, node, each))
    return None if any(_may_start(frame, each) for each in before) else start


def _is_given(root: cst.CSTNode, node: cst.CSTNode, start: cst.Call) -> bool:
    """Whether the start is given the answer as the rank of the process: with several processes, it would fail."""
    given = keyword_value(start, "rank")
    if given is None:
        return False
    return any(value is node and target.deep_equals(given) for target, value in assignments(root))


def _is_reached(root: cst.CSTNode, node: cst.CSTNode, start: cst.Call) -> bool:
    """Whether all ranks get from a place to a call, once."""
    shared = {id(each) for each in ancestors(root, node)}
    around = ancestors(root, start)[1:]
    if any(isinstance(each, (*LOOPS, *ELSEWHERE)) for each in around) or are_in_opposite_branches(root, node, start):
        return False
    return all(_is_passed(each) for each in around if id(each) not in shared)


# What runs its body at another time.
ELSEWHERE = (cst.Lambda, cst.FunctionDef, cst.ClassDef)


def _is_passed(around: cst.CSTNode) -> bool:
    """Whether what is in a statement is done wherever there are several processes."""
    return not isinstance(around, (cst.If, cst.Try, cst.TryStar)) or (
        isinstance(around, cst.If) and is_for_several(around)
    )


def is_for_several(branch: cst.If) -> bool:
    """Whether a branch is for several processes, as its condition says: `args.distributed`, `"RANK" in os.environ`."""
    names = {*_words(branch.test)}
    if not names.isdisjoint(ASK_FOR_GROUP):
        return False
    return asks_for_several(branch.test) or not names.isdisjoint(_LAUNCHER)


def _starts(frame: Frame, call: cst.Call, module: Module | None = None, depth: int = _DEPTH) -> bool:
    """Whether a call starts the group, and raises if there is one."""
    if last_name(call.func) == STARTED_ONCE:
        return True
    function = function_called(frame, module or frame.module, call, in_frame=module is None) if depth else None
    if function is None or not ASK_FOR_GROUP.isdisjoint(names_in(function.node)):
        return False
    return any(
        _is_once(function.node, each) and _starts(frame, each, function.module, depth - 1)
        for each in of_class(function.node, cst.Call)
    )


def _is_once(root: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a call is at most under conditions for several processes."""
    around = ancestors(root, call)[1:]
    return all(_is_passed(each) and not isinstance(each, (*LOOPS, *ELSEWHERE)) for each in around)


def _may_start(frame: Frame, call: cst.Call) -> bool:
    """Whether a call may start a group, or processes that do: by its name, or that of one in the function called."""
    if last_name(call.func) in MAY_START or library_function_of(frame, call.func) in CALLED_BY_EACH:
        return True
    function = function_called(frame, frame.module, call, in_frame=True)
    code = () if function is None else with_callees(frame, function, 2)
    return any(not MAY_START.isdisjoint(names_in(each)) for each in code)
