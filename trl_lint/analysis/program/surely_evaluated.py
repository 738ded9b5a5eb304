"""Which names code surely reads: those that are read on each way through it.

a = first(b) if c else d        first statement: `c`
for e in f: g(e)                `f`: there may be nothing to go round for
try: h()                        nothing: whatever is raised is caught
except Exception: i()
with j: k()                     `j`: a context may swallow what is raised in it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, children

_BLOCKS = (cst.IndentedBlock, cst.Module, cst.SimpleStatementLine, cst.SimpleStatementSuite)


def names_read_before(tree: cst.Module, node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that are read on each way to a place: before it in the blocks around it, and in their headings.

    A function is not there before what stands in front of it has been run.
    """
    for outer, inner in pairwise((*ancestors(tree, node), node)):
        if isinstance(outer, _BLOCKS):
            for statement in outer.body[: outer.body.index(inner)]:
                yield from names_read(statement)
        elif inner in _bodies(outer):
            yield from _read_in(_heading(outer))


def names_read(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that are read whenever a statement is left to the next one, or an expression has a value."""
    if isinstance(node, cst.Name):
        yield node
    else:
        parts = _EVALUATED.get(type(node))
        yield from _read_in(children(node) if parts is None else parts(node))


def _read_in(nodes: Iterable[cst.CSTNode]) -> Iterator[cst.Name]:
    return (name for node in nodes for name in names_read(node))


def _bodies(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """What is run after the heading of a compound statement; nothing of other nodes."""
    if isinstance(node, (cst.ClassDef, cst.FunctionDef, cst.With)):
        return (node.body,)
    if isinstance(node, (cst.For, cst.If, cst.While)):
        return (node.body,) if node.orelse is None else (node.body, node.orelse)
    return tuple(node.cases) if isinstance(node, cst.Match) else ()


def _heading(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What a compound statement evaluates before anything else, in any case."""
    match node:
        case cst.If() | cst.While():
            return [node.test]
        case cst.For():
            return [node.iter]
        case cst.With():
            return [item.item for item in node.items[:1]]
        case cst.Match():
            return [node.subject]
        case cst.ClassDef():
            return [*node.decorators, *node.bases, *node.keywords]
        case cst.FunctionDef():
            return [*node.decorators, *_defaults(node.params)]
    return []


def _defaults(parameters: cst.Parameters) -> list[cst.CSTNode]:
    several = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    return [each.default for each in several if each.default is not None]


def _class(node: cst.ClassDef) -> list[cst.CSTNode]:
    return [*_heading(node), *node.body.body]


def _assigned(node: cst.Assign) -> list[cst.CSTNode]:
    return [node.value]


def _annotated(node: cst.AnnAssign) -> list[cst.CSTNode]:
    return [] if node.value is None else [node.value]


def _tried(node: cst.Try | cst.TryStar) -> list[cst.CSTNode]:
    """What is raised below a handler may be caught."""
    body = [] if node.handlers else [*node.body.body]
    return body if node.finalbody is None else [*body, *node.finalbody.body.body]


def _nothing(node: cst.CSTNode) -> list[cst.CSTNode]:
    return []


def _round(node: cst.BaseComp) -> list[cst.CSTNode]:
    """What a comprehension goes through; nothing else, as it may be empty."""
    return [node.for_in.iter]


# What is evaluated of a node in any case; all its parts, where it is not named.
_EVALUATED: dict[type[cst.CSTNode], Callable[..., list[cst.CSTNode]]] = {
    cst.AnnAssign: _annotated,
    cst.Arg: lambda node: [node.value],
    cst.Assert: _nothing,
    cst.Assign: _assigned,
    cst.Attribute: lambda node: [node.value],
    cst.AugAssign: lambda node: [node.value],
    cst.BooleanOperation: lambda node: [node.left],
    cst.ClassDef: _class,
    cst.Comparison: lambda node: [node.left, node.comparisons[0].comparator],
    cst.Del: _nothing,
    cst.DictComp: _round,
    cst.For: _heading,
    cst.FunctionDef: _heading,
    cst.GeneratorExp: _round,
    cst.Global: _nothing,
    cst.If: _heading,
    cst.IfExp: lambda node: [node.test],
    cst.Import: _nothing,
    cst.ImportFrom: _nothing,
    cst.Lambda: lambda node: _defaults(node.params),
    cst.ListComp: _round,
    cst.Match: _heading,
    cst.NamedExpr: lambda node: [node.value],
    cst.Nonlocal: _nothing,
    cst.SetComp: _round,
    cst.Try: _tried,
    cst.TryStar: _tried,
    cst.TypeAlias: _nothing,
    cst.While: _heading,
    cst.With: _heading,
}
