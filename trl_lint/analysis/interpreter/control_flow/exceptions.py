"""`try`: only ranks on which an exception is raised enter an `except` clause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.interpreter.control_flow import process_exits, sure_conversions
from trl_lint.analysis.interpreter.control_flow.branches import run_body
from trl_lint.analysis.interpreter.objects.assignment import bind_target
from trl_lint.analysis.program.blocks import raises_again
from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.idioms.handled_errors import catches, skips_turn
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import below, identifiers, last_name
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch
from trl_lint.domain import ranks
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import LibraryName, ProjectName
from trl_lint.domain.values import UNKNOWN
from trl_lint.knowledge.python import MET_BY_ALL_RANKS, NOT_INSTALLED, OUT_OF_MEMORY

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

_ANYTHING = frozenset({"Exception", "BaseException"})

_CAUGHT = "only ranks where an exception is raised get here"


def run_try(frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    return _run_all_of_it(frame, node) if sure_conversions.is_one(frame, node.body) else _run_parts(frame, node)


def _run_all_of_it(frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    """Run a `try` in whose body nothing can fail."""
    through = run_body(frame, node.body)
    if through and node.orelse is not None:
        through = run_body(frame, node.orelse.body)
    return (node.finalbody is None or run_body(frame, node.finalbody.body)) and through


def _run_parts(frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    before = frame.memory.fork()
    if not all(map(_keeps_ranks_together, node.handlers)):
        # A rank on which an exception is raised leaves the body and continues after the `try`.
        frame.memory.control = before.control.under(_may_be_left(frame, node))
    catches_attribute_error = any(_catches_attribute_error(frame, node, each) for each in node.handlers)
    frame.attribute_error_depth += catches_attribute_error
    start, exits, inside = len(frame.sync_points), len(frame.exits), frame.memory.control
    through = run_body(frame, node.body)
    body = (start, len(frame.sync_points))
    left = _divided_by_exits(inside, frame.memory.control) if len(frame.exits) > exits else UNIFORM
    frame.attribute_error_depth -= catches_attribute_error
    done = frame.memory
    branches: list[tuple[bool, Memory]] = []
    caught = Control(Uniformity.DIVERGENT, frame.step(node, _CAUGHT), ranks.UNKNOWN)
    after = before.control
    for handler in node.handlers:
        frame.memory = before.fork().merge(done)
        frame.memory.control = before.control.under(caught)
        through_handler, leaves = _run_handler(frame, node, handler, body)
        _keep_reduced(frame.memory, done)
        if _handles_missing_package(handler) or _only_imports(node.body):
            _keep_imported(frame.memory, done)
        branches.append((through_handler, frame.memory))
        if leaves and not _handles_missing_package(handler):
            step = frame.step(handler, "a rank where an exception is raised leaves here")
            after = after.under(Control(Uniformity.UNKNOWN, step, ranks.UNKNOWN))
    frame.memory = done
    if through and node.orelse is not None:
        through = run_body(frame, node.orelse.body)
    branches.append((through, frame.memory))
    reached = _joined(branches)
    frame.memory = reached or done
    frame.memory.control = after
    if node.finalbody is not None and not run_body(frame, node.finalbody.body):
        return False
    # Ranks that leave the body with a `return` or `continue` run the `finally` clause, but nothing after it.
    frame.memory.control = frame.memory.control.under(left)
    return reached is not None


def _may_be_left(frame: Frame, node: cst.Try | cst.TryStar) -> Control:
    step = frame.step(node, "a rank where an exception is raised does not reach the end of this")
    return Control(Uniformity.UNKNOWN, step, ranks.UNKNOWN)


def _divided_by_exits(inside: Control, end: Control) -> Control:
    """The conditions in the body of a `try` under which some ranks have left it for good."""
    return end.without_conditions(frozenset(id(each.provenance) for each in inside.conditions))


def _run_handler(
    frame: Frame, node: cst.Try | cst.TryStar, handler: cst.ExceptHandler | cst.ExceptStarHandler, body: tuple[int, int]
) -> tuple[bool, bool]:
    """Run an `except` clause. Returns whether its end is reached, and whether it may leave."""
    exits, start = len(frame.exits), len(frame.sync_points)
    if handler.name is not None:
        bind_target(frame, handler.name.name, UNKNOWN)
    through = run_body(frame, handler.body)
    # A process that ends because of an exception has failed, whatever its status says.
    leaving = process_exits.exits_in(frame, exits)
    frame.exits[exits:] = leaving
    goes_on = through and not raises_again(handler)
    if (leaving or goes_on) and _is_of_some_ranks(handler):
        marks = (start, len(frame.sync_points), len(frame.sync_points))
        provenance = frame.step(handler, _CAUGHT)
        refused = _is_raised_in_a_forward(frame, handler)
        skipped = body if refused or catches(handler, OUT_OF_MEMORY) else (0, 0)
        branch = Branch(
            handler,
            provenance,
            marks,
            (through, True),
            (leaving, ()),
            by=DividedBy.EXCEPTION,
            tried=node.body,
            skipped=skipped,
            refused=refused,
        )
        for observe in frame.observers.branch:
            observe(frame, branch)
    return through, bool(leaving)


def _keep_reduced(handled: Memory, done: Memory) -> None:
    """Keep the values that the body has reduced, instead of those that a handler assigns when the collective raises."""
    for name, value in done.names.items():
        if value.rank.is_reduced and handled.names.get(name, value).rank.differs:
            handled.names[name] = value


def _keep_imported(handled: Memory, done: Memory) -> None:
    """Keep what the body has imported from a library, instead of what stands in for it where that is not installed.

    It is no library if the handler imports it from the project.
    """
    for name, value in done.names.items():
        if isinstance(value, LibraryName) and not isinstance(handled.names.get(name), ProjectName):
            handled.names[name] = value


def _only_imports(body: cst.BaseSuite) -> bool:
    """Whether nothing else can fail in the body of a `try`."""
    lines = [
        small for each in body.body for small in (each.body if isinstance(each, cst.SimpleStatementLine) else (each,))
    ]
    return all(isinstance(each, (cst.Import, cst.ImportFrom)) for each in lines)


def _joined(branches: Iterable[tuple[bool, Memory]]) -> Memory | None:
    reached: Memory | None = None
    for alive, memory in branches:
        if alive:
            reached = memory if reached is None else reached.merge(memory)
    return reached


def _is_of_some_ranks(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether the exception that an `except` clause catches may be raised on some ranks only."""
    if handler.type is None:
        return True
    names = {
        each.attr.value if isinstance(each, cst.Attribute) else getattr(each, "value", "") for each in _caught(handler)
    }
    return not names & MET_BY_ALL_RANKS and "" not in names


def _keeps_ranks_together(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether no rank leaves the body for this clause and continues after it while others stay in the body."""
    names = {last_name(each) for each in _caught(handler)}
    return raises_again(handler) or _handles_missing_package(handler) or (bool(names) and names <= MET_BY_ALL_RANKS)


def _handles_missing_package(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether an `except` clause only catches that a package or repository is missing, which is so on all ranks."""
    names = [last_name(each) for each in _caught(handler)]
    return bool(names) and all(name in NOT_INSTALLED for name in names)


def _is_raised_in_a_forward(frame: Frame, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether the caught exception is one of the project, with which a module's `forward` rejects its input."""
    values = [frame.engine.evaluate(frame, each) for each in _caught(handler) if isinstance(each, cst.Name)]
    classes = [value.cls for each in values if isinstance(value := frame.engine.settle(each), ClassValue)]
    return any(cls.name in _raised_in_forwards(cls.module) for cls in classes)


def _caught(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> list[cst.BaseExpression]:
    kind = handler.type
    if kind is None:
        return []
    return [element.value for element in kind.elements] if isinstance(kind, cst.Tuple) else [kind]


@noted
def _raised_in_forwards(module: Module) -> frozenset[str]:
    """The names of the exceptions raised by the classes of a file that have a `forward`."""
    nodes = below(module.tree) if module.mentions(rb"\bdef\s+forward\b") else ()
    classes = (each for each in nodes if isinstance(each, cst.ClassDef) and _has_forward(each))
    return frozenset(
        name
        for cls in classes
        for each in below(cls)
        if isinstance(each, cst.Raise) and each.exc is not None
        for name in identifiers(each.exc.func if isinstance(each.exc, cst.Call) else each.exc)
    )


def _has_forward(cls: cst.ClassDef) -> bool:
    return any(isinstance(each, cst.FunctionDef) and each.name.value == "forward" for each in cls.body.body)


def _catches_attribute_error(
    frame: Frame, tried: cst.CSTNode, handler: cst.ExceptHandler | cst.ExceptStarHandler
) -> bool:
    """Whether the code goes on without a missing attribute, or names that error itself.

    A loop that shows any error of a turn and goes on with the next one does not expect that it comes in every turn.
    """
    names = () if handler.type is None else identifiers(handler.type)
    is_any = catches(handler, _ANYTHING) and not raises_again(handler)
    return "AttributeError" in names or (is_any and not skips_turn(frame.root, tried, handler))
