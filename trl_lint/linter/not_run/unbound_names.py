"""Places behind a name that is bound nowhere: whoever gets to the name stops there with a NameError.

def evaluate(model, rows):
    score = accuracy(model, rows)         neither defined nor imported in the file, no builtin
    wandb.log({"accuracy": score})        not run
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable

import libcst as cst

from trl_lint.analysis.program.project import Module, Project
from trl_lint.analysis.program.surely_evaluated import names_read, names_read_before
from trl_lint.analysis.program.syntax import definitions_around, names_in, of_class, used_names, value_names
from trl_lint.knowledge.heuristics import GIVEN_BY_RUNNERS
from trl_lint.linter.not_run.bound_names import names_bound
from trl_lint.linter.not_run.module_flags import may_be_set_elsewhere

# What runs a text part by part, and goes on after an error; and what runs a file with names of its own.
_CELLS = re.compile(rb"(?m)^# ?(?:%%|In ?\[|COMMAND -|Databricks notebook)|\bget_ipython\b")
_RUNS_FILES = re.compile(rb"\b(?:exec|execfile|init_globals|runpy)\b")
# Those of Python's start, and of later releases than the one that runs this, are there as well.
_BUILTINS = {
    *dir(builtins),
    *("copyright", "credits", "exit", "license", "quit"),
    *("BaseExceptionGroup", "EncodingWarning", "ExceptionGroup", "PythonFinalizationError", "WindowsError"),
    *("aiter", "anext"),
}
# A text that reads more such names than this is a piece of a program, which somebody looks at without the rest.
_MOST_FORGOTTEN = 2
# What runs a method of a class where another one is derived from it.
_RUNS_WITH_CLASSES = rb"\b(?:__init_subclass__|__set_name__|metaclass)\b"


def is_behind_unbound_name(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a name that nothing binds is read on each way to a place, or when its file is imported."""
    bound = module.notes.worked_out(is_behind_unbound_name, lambda: _bound(project, module))
    if bound is None:
        return False
    read = {name.value for name in names_read_before(module.tree, node)}
    if any(isinstance(each, cst.FunctionDef) for each in definitions_around(module.tree, node)):
        read |= module.notes.worked_out(_read_on_import, lambda: _read_on_import(module))
    return any(_is_unbound(project, name) for name in read - bound)


def _is_unbound(project: Project, name: str) -> bool:
    """Whether nothing gives a name to a file that does not bind it."""
    return not (name.startswith("__") or GIVEN_BY_RUNNERS.fits(name) or may_be_set_elsewhere(project, name))


def _bound(project: Project, module: Module) -> frozenset[str] | None:
    """The names that a file binds, or that are there in all; None where that can't be told."""
    bound = names_bound(module)
    if bound is None or module.path.suffix != ".py" or _CELLS.search(module.source or b""):
        return None
    name = module.path.name.encode(errors="replace").decode()  # which may be no text
    if any(_RUNS_FILES.search(code) for _, code in project.linted_code(name)):
        return None
    bound |= _BUILTINS
    return None if len(_read(module.tree) - bound) > _MOST_FORGOTTEN else bound


def _read(tree: cst.Module) -> set[str]:
    """The names that a file reads anywhere, less those that its imports spell."""
    imports = (*of_class(tree, cst.Import), *of_class(tree, cst.ImportFrom))
    return used_names(tree).difference(*map(names_in, imports))


def _read_on_import(module: Module) -> frozenset[str]:
    """The names that lines at the top of a file read before any of them can run what the file defines."""
    read: set[str] = set()
    own = {each.name.value for each in of_class(module.tree, cst.ClassDef)}
    own |= {each.name.value for each in of_class(module.tree, cst.FunctionDef)}
    for statement in module.tree.body:
        read.update(name.value for name in names_read(statement))
        if not own.isdisjoint(_run_with(module, statement)):
            break
    return frozenset(read)


def _run_with(module: Module, statement: cst.CSTNode) -> set[str]:
    """The names that stand in what a line at the top runs, itself or in the body of a class."""
    if isinstance(statement, cst.FunctionDef):
        return _names((*statement.decorators, statement.params))
    if isinstance(statement, cst.ClassDef):
        bases = statement.bases if module.mentions(_RUNS_WITH_CLASSES) else ()
        within = (_run_with(module, each) for each in statement.body.body)
        return _names((*statement.decorators, *bases, *statement.keywords)).union(*within)
    return _names([statement])


def _names(nodes: Iterable[cst.CSTNode]) -> set[str]:
    return {name.value for node in nodes for name in value_names(node)}
