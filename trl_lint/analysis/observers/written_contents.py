"""What all ranks write to one file. If it is data of each rank, the last one's stays, and the others' is lost.

Events of a program in which `rows` is this rank's share of the data:

    torch.save(rows, "rows.pt")             SideEffect(name="torch.save", own=True)
    with open("rows.json", "w") as file:    SideEffect(name="open", own=True)
        json.dump(rows, file)
    table = pandas.DataFrame(rows)
    table.to_csv("rows.csv")                SideEffect(name="to_csv", own=True)
    json.dump([f(row) for row in rows], file)    the same: what something unknown makes of a row is this rank's own
    path.write_text(json.dumps(rows))       SideEffect(name="write_text", own=True)
    torch.save(gathered, "rows.pt")         SideEffect(name="torch.save", own=False), as `gathered` is the same
    torch.save({"loss": loss, "model": model.state_dict()}, "all.pt")    own=None: it is neither
    table.to_csv("rows.csv", mode="a")      none: each adds its rows to those of the others
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import SideEffect
from trl_lint.analysis.program.idioms.open_files import bound_to
from trl_lint.analysis.program.syntax import ancestors, assigned_once, last_name, of_class
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.processes.mapped_rows import are_made_of_own, is_own, is_row_of_own
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.effects import (
    ADD_ROWS,
    APPENDED,
    MAKE_TABLES,
    MAKE_TEXTS,
    TAKE_DATA,
    WRITE_MANY,
    WRITE_ROWS,
    WRITE_TABLE,
    WRITE_TEXTS,
)

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control

_MAY_HAVE_OWN_PARTS = frozenset({Kind.BOUND, Kind.FUNCTION, Kind.INSTANCE, Kind.LOADER, Kind.MODEL, Kind.UNKNOWN})
# How deep the containers of data are.
_DEEPEST = 3


class DataCalls:
    """The calls that write data or make a table of it, by their ids: whether only this rank has that data, or all do.

    It is asked at the call, which may change what it is passed.
    """

    def __init__(self) -> None:
        self.own: dict[int, bool] = {}
        self.same: dict[int, bool] = {}


class WrittenContents(Observer["Frame"]):
    needed_by = frozenset({SideEffect})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in TAKE_DATA:
            _note(frame, args.get(*TAKE_DATA[name]), node, is_table=name in MAKE_TABLES)
            written = [args.expression(each) for each in TAKE_DATA[name]]
            if any(each is not None and are_made_of_own(frame, each) for each in written):
                frame.notes.of(DataCalls).own[id(node)] = True

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in WRITE_TABLE:
            _note(frame, receiver, node, is_table=True)
        elif name in WRITE_MANY and isinstance(node, cst.Call):
            rows = _rows_of(node)
            frame.notes.of(DataCalls).own[id(node)] = rows is not None and are_made_of_own(frame, rows)

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        effects = [(key, event) for key, event in frame.trace.events.items() if isinstance(event, SideEffect)]
        for key, event in effects:
            if event.effect is APPENDED:
                continue
            if not _writes_own(frame, event.node):
                if _writes_same(frame, event.node):
                    frame.trace.events[key] = replace(event, own=False)
            elif event.effect in ADD_ROWS.values():
                del frame.trace.events[key]
            else:
                frame.trace.events[key] = replace(event, own=True)


def _note(frame: Frame, data: Value | None, node: cst.CSTNode, *, is_table: bool) -> None:
    calls = frame.notes.of(DataCalls)
    calls.own[id(node)] = data is not None and is_own(frame, data)
    # What is no table may be the measures of a run, with times of each rank among them.
    may_be_same = data is not None and (is_table or data.kind is not Kind.BATCH)
    calls.same[id(node)] = data is not None and may_be_same and _is_same(frame, data)


def _writes_same(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether a call is known to write the same data on all ranks, or opens a file for nothing else."""
    same = frame.notes.of(DataCalls).same
    bound = bound_to(frame.root, call)
    writing = [] if bound is None else list(_writing(same, bound[0].value, bound[1]))
    if writing:
        return all(same.get(id(each), False) for each in writing)
    return any(same.get(id(each), False) for each in (call, _table(frame, call)))


def _writes_own(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether a call writes this rank's own data, or opens a file for nothing else."""
    own = frame.notes.of(DataCalls).own
    if own.get(id(call)) or own.get(id(_table(frame, call))):
        return True
    rows = _rows_of(call) if isinstance(call, cst.Call) else None
    if rows is not None:
        return are_made_of_own(frame, rows)
    bound = bound_to(frame.root, call)
    writing = [] if bound is None else list(_writing(own, bound[0].value, bound[1]))
    return bool(writing) and all(own.get(id(each)) or _is_own_row(frame, each) for each in writing)


def _is_own_row(frame: Frame, write: cst.Call) -> bool:
    """Whether a method of a file writes a row of this rank's own, or many of them."""
    row = write.args[0].value
    rows = _rows_of(write)
    if rows is not None and are_made_of_own(frame, rows):
        return True
    return is_own(frame, frame.value_of(row)) or is_row_of_own(frame, row, write)


def _rows_of(write: cst.Call) -> cst.BaseExpression | None:
    """The rows that one call writes to a file: of `file.writelines(rows)`, `file.write("\\n".join(rows) + "\\n")`."""
    match write:
        case cst.Call(func=cst.Attribute(attr=cst.Name(method)), args=[cst.Arg(value=rows), *_]):
            return rows if method in WRITE_MANY else _rows_in(rows) if method in WRITE_TEXTS else None
    return None


def _rows_in(text: cst.BaseExpression) -> cst.BaseExpression | None:
    match text:
        case cst.BinaryOperation(operator=cst.Add()):
            return _rows_in(text.left) or _rows_in(text.right)
        case cst.Call(func=func, args=[cst.Arg(value=rows), *_]) if last_name(func) in MAKE_TEXTS:
            return rows
    return None


def _table(frame: Frame, call: cst.CSTNode) -> cst.CSTNode | None:
    """The call that makes the table of which a method is called; None if no call is known."""
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name(name))):
            return assigned_once(frame.root, name)
        case cst.Call(func=cst.Attribute(value=cst.Call() as made)):
            return made
    return None


def _writing(known: Container[int], file: str, code: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls that write to an open file: what dumps something or writes many rows, and what writes in a loop.

    A line alone is a log. known: the ids of the calls that dump something.
    """
    files = {file, *_writers(file, code)}
    for call in of_class(code, cst.Call):
        match call:
            case cst.Call(args=[_, cst.Arg(value=cst.Name(name)), *_]) if name == file and id(call) in known:
                yield call
            case cst.Call(func=cst.Attribute(value=cst.Name(name)), args=[_]) if name in files:
                in_loop = any(isinstance(each, (cst.For, cst.While)) for each in ancestors(code, call))
                if _rows_of(call) is not None or (in_loop and last_name(call.func) in WRITE_ROWS):
                    yield call


def _writers(file: str, code: cst.CSTNode) -> Iterator[str]:
    """The names of what is made to write rows to an open file: `writer = csv.writer(file)`."""
    for each in of_class(code, cst.Assign):
        match each:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(writer))],
                value=cst.Call(args=[cst.Arg(value=cst.Name(name)), *_]),
            ) if name == file:
                yield writer


def _is_same(frame: Frame, value: Value, depth: int = 0) -> bool:
    """Whether data, and all that a container of it holds, is known to be the same on all ranks.

    Of a model and an optimizer, each rank may have a part, and statistics of its own.
    """
    if value.rank.state is not State.SAME or value.kind in _MAY_HAVE_OWN_PARTS:
        return False
    if value.kind not in (Kind.CONTAINER, Kind.TUPLE):
        return value.kind is not Kind.BATCH or depth == 0
    parts = frame.memory.contents(value) if depth < _DEEPEST else []
    return bool(parts) and all(_is_same(frame, each, depth + 1) for each in parts)


OBSERVER = WrittenContents()
