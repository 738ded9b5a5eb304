"""Errors that the code around a call expects.

try:
    os.makedirs(folder)          the second rank finds it there
except FileExistsError:
    pass
with suppress(FileNotFoundError):
    os.remove(path)              the second rank finds nothing
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from trl_lint.analysis.program.blocks import raises_again
from trl_lint.analysis.program.syntax import (
    ancestors,
    below,
    callee_of,
    identifiers,
    inwards,
    last_name,
    names_in,
    of_class,
)
from trl_lint.knowledge.python import NO_MEMORY

# What a call raises when another process has done the same to a file before, and what is raised for nothing else.
MISSING_FILE = "FileNotFoundError"
_OF_SECOND = frozenset({"FileExistsError", MISSING_FILE})
_ANY = frozenset({
    "BaseException", "CalledProcessError", "EnvironmentError", "Exception", "IOError", "OSError", "SubprocessError",
})  # fmt: skip
_ANY_OF_FILES = {"BlockingIOError", "EnvironmentError", "IOError", "OSError", "PermissionError", "Timeout"}
# What is raised for files because of what another process does with them, or for whatever reason. A missing file is
# missing for all ranks, unless one of them takes it away.
OF_FILES = (_OF_SECOND - {MISSING_FILE}) | _ANY_OF_FILES
_SUPPRESS = "suppress"


def catches(handler: cst.ExceptHandler | cst.ExceptStarHandler, names: Collection[str]) -> bool:
    """Whether an `except` clause catches an exception with one of these names."""
    return handler.type is None or any(name in names for name in identifiers(handler.type))


def names_out_of_memory(handler: cst.CSTNode) -> bool:
    """Whether an `except` clause names the error of a full memory, or looks for its text."""
    texts = of_class(handler, cst.SimpleString)
    return NO_MEMORY in names_in(handler) or any("out of memory" in text.value for text in texts)


def is_caught(root: cst.CSTNode, node: cst.CSTNode, names: Collection[str]) -> bool:
    """Whether a `try` around a node catches an exception with one of these names, and does not raise it again."""
    return any(
        inner is outer.body and any(catches(each, names) and not raises_again(each) for each in outer.handlers)
        for outer, inner in inwards(root, node)
        if isinstance(outer, (cst.Try, cst.TryStar))
    )


def skips_turn(root: cst.CSTNode, tried: cst.CSTNode, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether an `except` clause for any error shows it and goes on with the next turn of the loop around its `try`.

    It is meant for a turn that fails, such as an unreadable batch: with an error in every turn the loop does nothing.
    Not so where something else is done in the turn before, or where the loop tries a few things that it names.
    """
    if handler.type is None or last_name(handler.type) not in _ANYTHING:
        return False
    if not all(isinstance(each, cst.SimpleStatementLine) for each in handler.body.body):
        return False
    loop = _turn_of(root, tried)
    if loop is None:
        return False
    lines = [line for each in handler.body.body if isinstance(each, cst.SimpleStatementLine) for line in each.body]
    shown = [each for each in lines if isinstance(each, cst.Expr)]
    others = [each for each in lines if not isinstance(each, (cst.Expr, cst.Import, cst.ImportFrom, cst.Pass))]
    goes_on = all(isinstance(each, cst.Continue) for each in others) and (others or loop.body[-1] is tried)
    return bool(goes_on and shown) and all(last_name(callee_of(each.value)) in _SHOW for each in shown)


def _turn_of(root: cst.CSTNode, tried: cst.CSTNode) -> cst.IndentedBlock | None:
    """The body of a loop of which a `try` is a statement, and the first that does more than name values."""
    match ancestors(root, tried)[-2:]:
        case (cst.For(iter=cst.List() | cst.Tuple()), _):
            return None
        case (cst.For() | cst.While(), cst.IndentedBlock() as body):
            return body if next(each for each in body.body if not _only_names(each)) is tried else None
    return None


def _only_names(statement: cst.CSTNode) -> bool:
    lines = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    return bool(lines) and all(isinstance(each, (cst.AnnAssign, cst.Assign, cst.AugAssign)) for each in lines)


_ANYTHING = frozenset({"BaseException", "Exception"})
_SHOW = frozenset({
    "critical", "debug", "error", "exception", "info", "print", "print_exc", "print_exception", "warn", "warning",
})  # fmt: skip


def expects_second_try(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a call may fail because another process has made it before: the code around it handles that error.

    An error of another kind is handled only if the call is all that is tried: otherwise what follows would be left out.
    """
    return any(_handles(outer, inner) for outer, inner in inwards(root, node))


def _handles(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    """Whether an error in a part of a statement is handled by it."""
    match outer:
        case cst.Try(body=body, handlers=handlers) if inner is body:
            return any(_is_for_second(each.type, body) and not _raises(each) for each in handlers)
        case cst.With(items=items, body=body) if inner is body:
            calls = [each.item for each in items if isinstance(each.item, cst.Call)]
            given = (arg.value for call in calls if last_name(call.func) == _SUPPRESS for arg in call.args)
            return any(_is_for_second(error, body) for error in given)
    return False


def _is_for_second(error: cst.BaseExpression | None, body: cst.BaseSuite) -> bool:
    elements = [each.value for each in error.elements] if isinstance(error, cst.Tuple) else [error]
    names = {"Exception" if each is None else last_name(each) for each in elements}
    return bool(names & _OF_SECOND) or (len(body.body) == 1 and bool(names & _ANY))


def _raises(handler: cst.ExceptHandler) -> bool:
    """Whether a handler raises the error again; one that tests its number raises only others."""
    inside = list(below(handler.body))
    tests_number = any(isinstance(each, cst.Attribute) and each.attr.value == "errno" for each in inside)
    return not tests_number and any(isinstance(each, cst.Raise) for each in inside)
