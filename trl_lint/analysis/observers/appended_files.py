"""Files that all ranks append to without a conflict: one at a time, only some of them, none, or each its own lines.

Events of a program in which only the main process adds anything to `lines`:

    with open("log.txt", "a") as file:      none: there are no lines on the other ranks
        for line in lines:
            file.write(line)
    with open("log.txt", "w") as file:      SideEffect(name="open"), as each rank empties the file
        for line in lines:
            file.write(line)
    with open("log.txt", "a") as file:      SideEffect(name="open"), as each rank writes the last line
        for line in lines:
            file.write(line)
        file.write("end")
    open("log.txt", "a").close()            none: the file is only created
    with open("log.txt", "a") as file:      none: one process after the other
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("end")
    with FileLock("log.lock"):
        file = open("log.txt", "a")         none, for the same reason
    with open("log.txt", "a") as file:      none: each line names the rank that it comes from
        file.write(f"[{rank}] loss {loss}")
    file = open("log.txt", "a")             none, if the function writes to it on some ranks only
    train(model, file)
    file = open("log.txt", "a")             SideEffect(name="open"), as any rank may write to it
    return Logger(file)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import SideEffect
from trl_lint.analysis.program.idioms.open_files import bound_to, is_only_created, uses_of, uses_of_parameter
from trl_lint.analysis.program.syntax import ancestors, assigned_once, below, of_class, resolved
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.observing import CalleeRun, Observer
from trl_lint.domain import ranks
from trl_lint.domain.control import Control
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.effects import APPENDED, LOCK_FILE, LOCKS, TAKE_DATA, WRITE_ROWS
from trl_lint.knowledge.heuristics import RANK_FIELD

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

# Library functions that write to a file that they are passed.
_WRITERS = frozenset({*TAKE_DATA, "builtins.print", "csv.writer", "csv.DictWriter"})


class WrittenParameters:
    """Whether all ranks write to the file that a function gets for each parameter; empty if it writes to none."""

    def __init__(self) -> None:
        self.by_all: dict[str, bool] = {}


class FileCalls:
    """The calls of a run that may write to a file, by the ids of their nodes.

    written: whether any is known to write to one. on_some: those that only some ranks make. called: the functions of
    the project that are called, each with what is known of its parameters.
    """

    def __init__(self) -> None:
        self.written = False
        self.on_some: set[int] = set()
        self.called: dict[int, tuple[FunctionInfo, WrittenParameters]] = {}


class Loops:
    """Whether each loop of a run iterates over something that is empty on all ranks, or on all but some."""

    def __init__(self) -> None:
        self.of_some: dict[int, bool] = {}


class LockCalls:
    """The calls of a run that lock a file, or create a lock, by their ids."""

    def __init__(self) -> None:
        self.nodes: set[int] = set()


class AppendedFiles(Observer["Frame"]):
    needed_by = frozenset({SideEffect})
    statements = (cst.For,)

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in LOCK_FILE or name in LOCKS:
            frame.notes.of(LockCalls).nodes.add(id(node))
        if name in _WRITERS:
            _note_write(frame, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in WRITE_ROWS:
            _note_write(frame, node)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        calls, parameters = frame.notes.of(FileCalls), run.trace.notes.of(WrittenParameters)
        calls.called[id(node)] = function, parameters
        calls.written |= bool(parameters.by_all)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        if isinstance(statement, cst.For):
            iterable = frame.value_of(statement.iter)
            frame.notes.of(Loops).of_some[id(statement)] = containers.length_on_some(frame, iterable) is not None

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        events = frame.trace.events
        opened = {key: each for key, each in events.items() if isinstance(each, SideEffect)}
        for key, event in opened.items():
            call = event.node
            if event.effect is not APPENDED:
                continue
            if is_only_created(frame.root, call) or _is_for_some(frame, call):
                del events[key]
        if frame.function is not None and frame.notes.of(FileCalls).written:
            found = frame.trace.notes.of(WrittenParameters)
            found.by_all = {
                each.name: _is_parameter_used_by_all(frame, each.name) for each in frame.function.parameters
            }


def _note_write(frame: Frame, node: cst.CSTNode) -> None:
    calls = frame.notes.of(FileCalls)
    calls.written = True
    if frame.memory.control.is_chosen_by_rank:
        calls.on_some.add(id(node))
    else:
        calls.on_some.discard(id(node))


def _is_for_some(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether the file that is opened here is for one process at a time, for some, or for lines that name the rank."""
    return _is_used_by_some(frame, call) or _is_locked(frame, call) or _is_of_each(frame, call)


def _is_used_by_some(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether the file that is opened here is used, and only by some ranks."""
    uses = uses_of(frame.root, call)
    return bool(uses) and not any(_is_use_by_all(frame, each) for each in uses)


def _is_parameter_used_by_all(frame: Frame, name: str) -> bool:
    return any(_is_use_by_all(frame, each) for each in uses_of_parameter(frame.root, name))


def _is_use_by_all(frame: Frame, use: cst.CSTNode) -> bool:
    """Whether all ranks may write by one use of a file."""
    if _is_under_rank_test(frame, use):
        return False
    match ancestors(frame.root, use)[-2:]:
        case [cst.Call() as call, cst.Attribute()]:
            return id(call) not in frame.notes.of(FileCalls).on_some
        case [cst.Call() as call, cst.Arg() as argument]:
            return _is_passed_on_to_all(frame, call, argument)
    return True


def _is_passed_on_to_all(frame: Frame, call: cst.Call, argument: cst.Arg) -> bool:
    """Whether all ranks may write to a file in a call that it is passed to."""
    calls = frame.notes.of(FileCalls)
    if id(call) in calls.on_some or id(call) not in calls.called:
        return id(call) not in calls.on_some
    function, parameters = calls.called[id(call)]
    return parameters.by_all.get(_parameter_for(function, call, argument), True)


def _parameter_for(function: FunctionInfo, call: cst.Call, argument: cst.Arg) -> str:
    """The name of the parameter that an argument is bound to; "" if that does not show."""
    if argument.keyword is not None:
        return argument.keyword.value
    place = call.args.index(argument)
    if any(each.star for each in call.args[: place + 1]):
        return ""
    is_bound = function.cls is not None and not function.is_static
    names = [each.name for each in function.parameters if each.positional][is_bound:]
    return names[place] if place < len(names) else ""


def _is_of_each(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether all that is written to the file that is opened here names the rank: a log of all ranks."""
    uses = uses_of(frame.root, call)
    return bool(uses) and all(any(_names_rank(frame, text) for text in _written(frame, each)) for each in uses)


def _written(frame: Frame, use: cst.CSTNode) -> list[cst.BaseExpression]:
    """What a use of a file writes: the arguments of `file.write(…)` and `print(…, file=file)`; empty if not known."""
    around = ancestors(frame.root, use)[-2:]
    match around:
        case [cst.Call() as call, cst.Attribute(attr=cst.Name(name))] if name in WRITE_ROWS:
            return [each.value for each in call.args]
        case [cst.Call(func=cst.Name("print")) as call, cst.Arg(keyword=cst.Name("file"))]:
            return [each.value for each in call.args if each.keyword is None]
    return []


def _names_rank(frame: Frame, text: cst.BaseExpression) -> bool:
    """Whether a part of a text, or of what is assigned to a name in it, is the rank, or a number that it determines."""
    made = (assigned_once(frame.root, each.value) for each in of_class(text, cst.Name))
    return any(_is_rank(frame, part) for each in (text, *made) if each is not None for part in below(each))


def _is_rank(frame: Frame, number: cst.CSTNode) -> bool:
    value = frame.value_of(number)
    if value.rank.state is ranks.State.UNKNOWN:
        return isinstance(number, cst.Attribute) and RANK_FIELD.fits(number.attr.value)
    return value.kind is Kind.NUMBER and value.rank.is_by_rank


def _is_locked(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether the file that is opened here is locked, or a lock is held around this call."""
    locks = frame.notes.of(LockCalls).nodes
    if not locks:
        return False
    around = (item.item for each in ancestors(frame.root, call) if isinstance(each, cst.With) for item in each.items)
    if any(id(resolved(frame.root, context)) in locks for context in around):
        return True
    bound = bound_to(frame.root, call)
    if bound is None:
        return False
    name, code = bound
    calls = (each for each in of_class(code, cst.Call) if id(each) in locks and each.args)
    return any(_is_file(each.args[0].value, name.value) for each in calls)


def _is_file(argument: cst.BaseExpression, name: str) -> bool:
    """`file` or `file.fileno()`."""
    match argument:
        case cst.Call(func=cst.Attribute(value=cst.Name(value), attr=cst.Name("fileno"))) | cst.Name(value):
            return value == name
    return False


def _is_under_rank_test(frame: Frame, use: cst.CSTNode) -> bool:
    loops = frame.notes.of(Loops).of_some
    for each in ancestors(frame.root, use):
        if loops.get(id(each)):
            return True
        if isinstance(each, cst.If):
            test_rank = frame.value_of(each.test).rank
            if test_rank.differs and test_rank.origins == ranks.Origin.RANK:
                return True
    return False


OBSERVER = AppendedFiles()
