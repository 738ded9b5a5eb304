"""Statements: how each of them changes the state, and whether the next one is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import libcst as cst

from trl_lint.analysis.interpreter.calls import registered_hooks
from trl_lint.analysis.interpreter.conditions.conditions import narrow, truth
from trl_lint.analysis.interpreter.control_flow import branches, exceptions, loops, matches, process_exits, with_blocks
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.interpreter.objects import (
    given_fields,
    kept_tensors,
    present_on_some,
    settings_of_runs,
    subscripts,
)
from trl_lint.analysis.interpreter.objects.assignment import bind_target
from trl_lint.analysis.interpreter.operations import operators
from trl_lint.analysis.program import syntax
from trl_lint.analysis.program.definitions.lightning_trainers import trainer_by_use
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue
from trl_lint.analysis.program.syntax import declares
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import own_totals
from trl_lint.domain.constants import World
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import with_element
from trl_lint.domain.kinds import NONE, ContainerValue
from trl_lint.domain.values import UNKNOWN, Kind, Value

# Runs a statement of one class. Returns whether its end is reached.
_Handler: TypeAlias = Callable[[Frame, Any], bool]


def run_block(frame: Frame, body: Iterable[cst.CSTNode]) -> bool:
    """Run the statements of a suite in order. Returns whether its end is reached."""
    for statement in body:
        handler = HANDLERS.get(type(statement))
        if handler is None:
            continue
        if type(statement) is cst.SimpleStatementLine:
            if not _simple_line(frame, statement):
                return False
        elif not _run(frame, statement, handler):
            return False
    return True


def _run(frame: Frame, statement: cst.CSTNode, handler: _Handler) -> bool:
    """Run one statement. Returns whether its end is reached."""
    frame.statement = statement
    observing = frame.observers.statement.get(type(statement))
    if observing is None:
        return handler(frame, statement)
    before = frame.memory.control
    is_reached = handler(frame, statement)
    for observe in observing:
        observe(frame, statement, before)
    return is_reached


def _simple_line(frame: Frame, line: cst.SimpleStatementLine | cst.SimpleStatementSuite) -> bool:
    for small in line.body:
        handler = HANDLERS.get(type(small))
        if handler is not None and not _run(frame, small, handler):
            return False
    return True


def _pass(frame: Frame, node: cst.Pass) -> bool:
    """Nothing is done, but a user may ask which ranks get here."""
    return True


def _expression(frame: Frame, node: cst.Expr) -> bool:
    frame.discarded = node.value
    result = evaluate(frame, node.value)
    frame.discarded = None
    if type(node.value) is not cst.Call:
        return True
    if process_exits.ends(frame, node.value):
        process_exits.leave(frame, node, node.value)
        return False
    return not process_exits.never_returns(frame, node, node.value, result)


def _assign(frame: Frame, node: cst.Assign) -> bool:
    source, value = node.value, evaluate(frame, node.value)
    given = settings_of_runs.given_to_run(frame, source, value)
    if given is not None:
        source, value = given, evaluate(frame, given)
    if value is UNKNOWN and isinstance(name := node.targets[0].target, cst.Name):
        value = trainer_by_use(frame.module, frame.root, name.value) or value
    fields = given_fields.of(frame, source)
    if any(isinstance(each.target, (cst.List, cst.Tuple)) for each in node.targets):
        value = present_on_some.used(frame, source, value)  # None cannot be unpacked
    for target in node.targets:
        bind_target(frame, target.target, value)
        given_fields.put(frame, target.target, fields)
    return True


def _annotated(frame: Frame, node: cst.AnnAssign) -> bool:
    if node.value is not None and not declares(node):
        value = evaluate(frame, node.value)
        if value is UNKNOWN:
            value = frame.engine.annotated(frame, node.annotation.annotation) or value
        bind_target(frame, node.target, value)
    return True


def _augmented(frame: Frame, node: cst.AugAssign) -> bool:
    old = evaluate(frame, node.target)
    right = present_on_some.used(frame, node.value, evaluate(frame, node.value))
    right = own_totals.added_in(frame, node.value, right) if isinstance(node.operator, cst.AddAssign) else right
    old = present_on_some.used(frame, node.target, old)
    if isinstance(old, ContainerValue) and isinstance(node.operator, (cst.AddAssign, cst.BitOrAssign)):
        _grow(frame, old, right)
        return True
    bind_target(frame, node.target, operators.operate(frame, node.operator, old, right, node))
    kept_tensors.changed_in_place(frame, node.target, old)
    return True


def _grow(frame: Frame, old: ContainerValue, right: Value) -> None:
    """`items += more`: the container itself grows."""
    is_list = right.kind is Kind.CONTAINER and all(cell.shape == "list" for cell in frame.memory.cells(right))
    # The type of an empty entry of a library's store follows from its use.
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
            rest=with_element(cell.element(), element),
            length=cell.longer_by(length),
        ),
    )


def _return(frame: Frame, node: cst.Return) -> bool:
    value = NONE if node.value is None else evaluate(frame, node.value)
    frame.returned.append((value, frame.memory))
    frame.exits.append(node)
    return False


def _nonlocal(frame: Frame, node: cst.Global | cst.Nonlocal) -> bool:
    frame.nonlocals |= {item.name.value for item in node.names}
    return True


def _raise(frame: Frame, node: cst.Raise) -> bool:
    if process_exits.raises_end(node):
        process_exits.leave(frame, node, node.exc)
    return False


def _leave_iteration(frame: Frame, node: cst.Break | cst.Continue) -> bool:
    if frame.loops:
        loop = frame.loops[-1]
        if isinstance(node, cst.Break):
            loop.breaks.append(frame.memory)
            loop.left_by.append(node)
        else:
            loop.continues.append(frame.memory)
            loop.skipped_by.append(node)
    frame.exits.append(node)
    return False


def _assert(frame: Frame, node: cst.Assert) -> bool:
    """Code after `assert num_processes == 1` is not reached in a run with several processes.

    An assertion about a wrapped model (`hasattr`, `isinstance`) fails there as well, but that is not intended.
    """
    value = evaluate(frame, node.test)
    narrow(frame, node.test, True)
    present_on_some.note_presence(frame, node.test)
    if not isinstance(value.const, World) or truth(frame, value) is not False:
        return True
    called = (syntax.last_name(each.func) for each in syntax.below(node.test) if isinstance(each, cst.Call))
    return any(name in ("hasattr", "isinstance") for name in called)


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
    if not present_on_some.note_removal(frame, container) and len(container.identities) == 1:
        key = containers.constant_key(subscripts.subscript_value(frame, target))
        frame.update(
            container,
            lambda cell: cell.holding({name: value for name, value in cell.entries.items() if name != key}, cell.rest),
        )


def _import(frame: Frame, node: cst.Import) -> bool:
    frame.engine.run_import(frame, node)
    return True


def _import_from(frame: Frame, node: cst.ImportFrom) -> bool:
    frame.engine.run_import_from(frame, node)
    return True


def _function(frame: Frame, node: cst.FunctionDef) -> bool:
    outer = frame if frame.function is not None else None
    function = frame.engine.function(node, outer, frame.module)
    frame.memory.names[node.name.value] = FunctionValue(function)
    if outer is not None:
        registered_hooks.run_handler(frame, node)
    return True


def _class(frame: Frame, node: cst.ClassDef) -> bool:
    cls = frame.engine.class_info(frame, node)
    frame.memory.names[node.name.value] = ClassValue(cls)
    return True


HANDLERS: dict[type, _Handler] = {
    cst.AnnAssign: _annotated,
    cst.Assert: _assert,
    cst.Assign: _assign,
    cst.AugAssign: _augmented,
    cst.Break: _leave_iteration,
    cst.ClassDef: _class,
    cst.Continue: _leave_iteration,
    cst.Del: _delete,
    cst.Expr: _expression,
    cst.For: loops.run_for,
    cst.FunctionDef: _function,
    cst.If: branches.run_if,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.Global: _nonlocal,
    cst.Match: matches.run_match,
    cst.Nonlocal: _nonlocal,
    cst.Pass: _pass,
    cst.Raise: _raise,
    cst.Return: _return,
    cst.SimpleStatementLine: _simple_line,
    cst.SimpleStatementSuite: _simple_line,
    cst.Try: exceptions.run_try,
    cst.TryStar: exceptions.run_try,
    cst.While: loops.run_while,
    cst.With: with_blocks.run_with,
}
