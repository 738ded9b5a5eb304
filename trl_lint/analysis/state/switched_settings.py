"""Settings that a file sets to a constant itself, under conditions that do not ask for the rank.

if args.debug:
    args.save_results = False          `args.save_results` is a setting as before
if not is_main_process():
    args.save_results = False          nothing is known of it
"""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import ways_out
from trl_lint.analysis.program.syntax import ancestors, identifiers, of_class
from trl_lint.knowledge.heuristics import SETTING_OF_RANK, tells_rank

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

_CONSTANT = r"""(?:True|False|None|-?[\d.]+(?:e-?\d+)?|"[^"]*"|'[^']*')"""
_CONSTANTS = (cst.Float, cst.Integer, cst.Name, cst.SimpleString, cst.UnaryOperation)


def is_constant(text: str, name: str) -> bool:
    """`args.debug = True`, by its text from the word before the dot on."""
    return re.fullmatch(rf"\w+\.{re.escape(name)}\s*=\s*{_CONSTANT}\s*(?:#.*)?", text) is not None


def asks_no_rank(module: Module, name: str) -> bool:
    """Whether a file sets such an attribute to constants where no condition asks for the rank."""
    return name not in module.notes.worked_out(asks_no_rank, partial(_set_by_some, module))


def _set_by_some(module: Module) -> frozenset[str]:
    """The attributes that are set to a constant under a condition that may let some ranks in, and others not."""
    tree = module.tree
    return frozenset(
        target.target.attr.value
        for statement in of_class(tree, cst.Assign)
        if isinstance(statement.value, _CONSTANTS)
        for target in statement.targets
        if isinstance(target.target, cst.Attribute) and _is_of_some(tree, statement)
    )


def _is_of_some(tree: cst.Module, statement: cst.Assign) -> bool:
    path = (*ancestors(tree, statement), statement)
    return any(map(_tells, path)) or any(
        isinstance(block, (cst.IndentedBlock, cst.Module)) and any(map(_leaves, block.body[: block.body.index(inner)]))
        for block, inner in pairwise(path)
    )


def _tells(around: cst.CSTNode) -> bool:
    match around:
        case cst.ExceptHandler() | cst.ExceptStarHandler():
            return True
        case cst.If(test=test) | cst.While(test=test):
            return any(map(_is_of_rank, identifiers(test)))
        case cst.FunctionDef(name=name):
            return tells_rank(name.value)
    return False


def _leaves(before: cst.CSTNode) -> bool:
    """Whether some ranks may leave the block here: `if not is_main_process: return`."""
    return isinstance(before, cst.If) and bool(ways_out(before)) and _tells(before)


def _is_of_rank(name: str) -> bool:
    return tells_rank(name) or SETTING_OF_RANK.fits(name)
