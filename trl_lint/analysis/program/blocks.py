"""Blocks of code: how they end, what leaves them before a place, and whether they do nothing."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import LOOPS, innermost, inwards, last_name, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.python import NAMES_OF_ENDS


def is_blank(suite: cst.BaseSuite) -> bool:
    """Whether a suite only leaves the work to a subclass: a docstring, `pass`, `...`, NotImplementedError."""
    lines = suite.body if isinstance(suite, cst.SimpleStatementSuite) else []
    for line in suite.body if isinstance(suite, cst.IndentedBlock) else ():
        if not isinstance(line, cst.SimpleStatementLine):
            return False
        lines = [*lines, *line.body]
    return all(map(_does_nothing, lines))


def ends_outside(block: cst.BaseSuite | cst.If) -> bool:
    """Whether a block ends with a statement after which nothing in the block runs."""
    return isinstance(last_statement(block), (cst.Return, cst.Raise, cst.Break, cst.Continue))


def leaves_at_once(block: cst.BaseSuite) -> bool:
    """Whether all that a block does is to leave the function, or a round of a loop, without calling anything."""
    is_exit = isinstance(last_statement(block), (cst.Return, cst.Break, cst.Continue))
    return is_exit and len(block.body) == 1 and not of_class(block, cst.Call)


def exits_before(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.If]:
    """The `if` statements before a place, in the blocks around it, whose body ends with an exit."""
    for block, inner in inwards(root, node):
        if isinstance(block, (cst.IndentedBlock, cst.Module)):
            here = block.body.index(inner)
            yield from (statement for place, statement in _exits(block) if place < here)


# Asked for each finding in a block.
@tree_cache(512)
def _exits(block: cst.IndentedBlock | cst.Module) -> tuple[tuple[int, cst.If], ...]:
    """The `if` statements directly in a block whose body ends with an exit, each with its place in the block."""
    placed = enumerate(block.body)
    return tuple((place, each) for place, each in placed if isinstance(each, cst.If) and ends_outside(each.body))


def exits_of_loop(root: cst.CSTNode, loop: cst.For | cst.While) -> list[cst.CSTNode]:
    """The statements in the body of a loop that end it: each `return`, and each `break` of its own."""
    exits: list[cst.CSTNode] = list(of_class(loop.body, cst.Return))
    return exits + [each for each in of_class(loop.body, cst.Break) if innermost(root, each, *LOOPS) is loop]


def is_before_a_failure(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the block around a place ends with an error, or with a failure of the process: `sys.exit(1)`."""
    block = innermost(root, node, cst.IndentedBlock)
    match None if block is None else last_statement(block):
        case cst.Raise():
            return True
        case cst.Expr(value=cst.Call(func=func, args=[cst.Arg(value=status), *_])):
            is_done = isinstance(status, cst.Integer) and status.evaluated_value == 0
            return last_name(func) in NAMES_OF_ENDS and not is_done
    return False


def raises_again(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether an `except` clause ends with a `raise`."""
    return isinstance(last_statement(handler.body), cst.Raise)


def last_statement(block: cst.CSTNode) -> cst.CSTNode | None:
    """The last statement of a block; None if it has none."""
    last = block.body[-1] if isinstance(block, (cst.IndentedBlock, cst.SimpleStatementSuite)) and block.body else None
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last


def _does_nothing(statement: cst.BaseSmallStatement) -> bool:
    if isinstance(statement, cst.Raise):
        raised = statement.exc.func if isinstance(statement.exc, cst.Call) else statement.exc
        return isinstance(raised, cst.Name) and raised.value == "NotImplementedError"
    if isinstance(statement, cst.Expr):
        return isinstance(statement.value, (cst.ConcatenatedString, cst.Ellipsis, cst.SimpleString))
    return isinstance(statement, cst.Pass)
