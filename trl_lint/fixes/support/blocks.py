"""Blocks: the statement around a node, and which names certainly have a value before a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import libcst as cst

from trl_lint.analysis.program.blocks import ends_outside
from trl_lint.analysis.program.syntax import ancestors, below, inwards
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.fixes.support.edits import Import, NoFix
from trl_lint.fixes.support.importing import has_place
from trl_lint.fixes.support.node_types import BLOCKS, Block, Path, Scope
from trl_lint.fixes.support.scope import binders, binds

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

NO_PLACE = NoFix("there is no place for an import after what the file sets up for its imports")
_Kind_co = TypeVar("_Kind_co", bound=cst.BaseStatement, covariant=True)


@dataclass(frozen=True, slots=True)
class StatementInBlock(Generic[_Kind_co]):
    """A statement that new ones can be put before. around: the nodes around it, the last of which is the block."""

    statement: _Kind_co
    block: Block
    around: Path

    @property
    def siblings(self) -> Sequence[cst.BaseStatement]:
        """All statements of the block."""
        return self.block.body

    @property
    def index(self) -> int:
        """The index of the statement in its block."""
        return _index_in(self.block, self.statement)


def _index_in(block: Block, statement: cst.CSTNode) -> int:
    return next(index for index, each in enumerate(block.body) if each is statement)


def enclosing_statement(root: cst.CSTNode, node: cst.CSTNode) -> StatementInBlock[cst.BaseStatement] | None:
    """The innermost statement around a node, or the node itself, that new ones can be put before; None without one."""
    chain = (*ancestors(root, node), node)
    for index in range(len(chain) - 1, 0, -1):
        statement, block = chain[index], chain[index - 1]
        if isinstance(statement, cst.BaseStatement) and isinstance(block, BLOCKS):
            return StatementInBlock(statement, block, chain[:index])
    return None


def own_line(root: cst.CSTNode, node: cst.CSTNode) -> StatementInBlock[cst.SimpleStatementLine] | None:
    """The statement around a node if it is on a line by itself: a line inserted before it runs just before the node."""
    found = enclosing_statement(root, node)
    if found is None or not isinstance(found.statement, cst.SimpleStatementLine) or len(found.statement.body) > 1:
        return None
    return StatementInBlock(found.statement, found.block, found.around)


def torch_in_reach(module: Module, root: Scope, node: cst.CSTNode) -> tuple[Import, ...] | NoFix:
    """The import that makes `torch` mean the library at a node (none if it does already), or why that is impossible."""
    tree = module.tree
    if not all(_imports_torch(tree, each) for each in binders(tree, ["torch"])) or "torch" in _parameter_names(tree):
        return NoFix("`torch` may mean something else here")
    if root is tree or not binders(root, ["torch"]):
        needed = Import("torch")
        return (needed,) if has_place(module, needed, node) else NO_PLACE
    found = enclosing_statement(root, node)
    if found is None or not certainly_bound(root, "torch", found.statement):
        return NoFix("`torch` may not be imported yet here")
    return ()


def _imports_torch(tree: cst.Module, node: cst.CSTNode) -> bool:
    """Whether a node binds `torch` to the library, by `import` and not by `from … import`."""
    around = ancestors(tree, node)
    return isinstance(node, cst.ImportAlias) and isinstance(around[-1], cst.Import)


@tree_cache(16)
def _parameter_names(tree: cst.Module) -> set[str]:
    return {node.name.value for node in below(tree) if isinstance(node, cst.Param)}


def certainly_bound(root: cst.CSTNode, name: str, before: cst.CSTNode) -> bool:
    """Whether a name has a value on every path to a statement of a function.

    True for names that the function does not bind at all: they are defined outside it.
    """
    if not binders(root, [name]):
        return True
    if isinstance(root, cst.FunctionDef) and name in _parameters(root.params):
        return True
    for outer, inner in inwards(root, before):
        if isinstance(outer, cst.For) and inner is outer.body and name in binds(outer):
            return True
        if isinstance(outer, cst.With) and any(name in _as_names(item) for item in outer.items):
            return True
        earlier = outer.body[: _index_in(outer, inner)] if isinstance(outer, BLOCKS) else ()
        if any(_always_binds(statement, name) for statement in earlier):
            return True
    return False


def _parameters(params: cst.Parameters) -> set[str]:
    """The names of all parameters."""
    listed = [*params.posonly_params, *params.params, *params.kwonly_params, params.star_arg, params.star_kwarg]
    return {param.name.value for param in listed if isinstance(param, cst.Param)}


def _as_names(item: cst.WithItem) -> set[str]:
    """The names that an item of a `with` binds."""
    return binds(item.asname) if item.asname is not None else set()


def _always_binds(statement: cst.CSTNode, name: str) -> bool:
    """Whether a statement always binds the name when it runs."""
    match statement:
        case cst.SimpleStatementLine() | cst.SimpleStatementSuite():
            return any(name in binds(node) for node in below(statement) if not isinstance(node, cst.CompFor))
        case cst.With(items=items, body=body):
            return any(name in _as_names(item) for item in items) or _block_binds(body, name)
        case cst.If(body=body, orelse=orelse):
            # A branch that leaves does not reach what comes next.
            other = orelse.body if isinstance(orelse, cst.Else) else orelse
            return other is not None and all(
                ends_outside(branch) or _block_binds(branch, name) for branch in (body, other)
            )
        case cst.FunctionDef(name=own) | cst.ClassDef(name=own):
            return own.value == name
    return False


def _block_binds(block: cst.BaseSuite | cst.If, name: str) -> bool:
    """Whether a block, or an `elif` with all its branches, always binds the name when it runs."""
    if isinstance(block, cst.If):
        return _always_binds(block, name)
    return any(_always_binds(each, name) for each in block.body) or (
        isinstance(block, cst.SimpleStatementSuite) and _always_binds(block, name)
    )
