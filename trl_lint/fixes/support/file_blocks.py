"""`with open(path, "w") as file:` around code that only writes the file, which can be put under a guard as a whole.

Nothing else may depend on the block: it binds no name that other code uses and leaves no function or loop, and every
call in it is one of Python, of a library for files, or of the file itself.
"""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below
from trl_lint.domain.kinds import library_name_of
from trl_lint.fixes.support.blocks import StatementInBlock, enclosing_statement
from trl_lint.fixes.support.node_types import Scope
from trl_lint.fixes.support.scope import bound_names, contains, names_spelled, root_name

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

# Libraries whose functions neither communicate nor compute anything large.
_FOR_FILES = frozenset({"json5", "jsonlines", "numpy", "omegaconf", "orjson", "pandas", "toml", "tomli_w", "yaml"})
# Methods of texts, numbers, lists and dictionaries, on whatever object.
_PLAIN_METHODS = frozenset(
    {"append", "encode", "format", "get", "isoformat", "item", "items", "join", "keys", "replace", "split", "strip"}
    | {"tolist", "values"}
)
_BIND_FOR_THEMSELVES = (cst.With, cst.For, cst.BaseComp)
_LEAVES = (cst.Await, cst.Break, cst.Continue, cst.FunctionDef, cst.Global, cst.Nonlocal, cst.Return, cst.Yield)


def file_block(module: Module, root: Scope, call: cst.CSTNode) -> StatementInBlock[cst.With] | None:
    """The block that a call opens a file for, if nothing else depends on it. root: the function, or the module."""
    found = enclosing_statement(root, call)
    if found is None or not isinstance(found.statement, cst.With) or len(found.statement.items) > 1:
        return None
    block = found.statement
    if block.asynchronous is not None or block.items[0].item is not call:
        return None
    inside = list(below(block))
    if any(isinstance(node, _LEAVES) for node in inside) or not _are_its_own(root, block):
        return None
    own = bound_names(block)
    calls = (node for node in inside if isinstance(node, cst.Call) and node is not call)
    if not all(_only_writes(module, each.func, own) for each in calls):
        return None
    return StatementInBlock(block, found.block, found.around)


def _are_its_own(root: Scope, block: cst.With) -> bool:
    """Whether no other code uses what the block binds; other blocks may bind the same names for themselves."""
    inside = {id(node) for node in below(block)}
    others = (node for name in bound_names(block) for node in names_spelled(root, name) if id(node) not in inside)
    return all(_is_bound_around(root, block, node) for node in others)


def _is_bound_around(root: Scope, block: cst.With, name: cst.Name) -> bool:
    """Whether another block around a name binds it: `with open(other) as file:`, `for row in rows:`."""
    around = (each for each in ancestors(root, name) if isinstance(each, _BIND_FOR_THEMSELVES))
    return any(name.value in bound_names(each) and not contains(each, block) for each in around)


def _only_writes(module: Module, called: cst.BaseExpression, own: frozenset[str]) -> bool:
    """Whether a callee is the file's, Python's or a file library's. own: the names that the block binds."""
    if isinstance(called, cst.Attribute) and called.attr.value in _PLAIN_METHODS:
        return True
    name = root_name(called)
    if name in own or (isinstance(called, cst.Attribute) and isinstance(called.value, cst.BaseString)):
        return True
    library = library_name_of(module.names.get(name)).partition(".")[0]
    if library:
        return library in sys.stdlib_module_names or library in _FOR_FILES
    return isinstance(called, cst.Name) and hasattr(builtins, name) and name not in module.names
