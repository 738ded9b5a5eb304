"""The names that a file binds, anywhere in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import of_class
from trl_lint.fixes.support.scope import bound_names

# Code that can bind names that do not appear in the text.
_BINDS_ANY = (
    rb"\b(?:exec|execfile|globals|locals)\(|\bvars\(\s*\)",
    rb"\b(?:__builtins__|builtins|f_globals|sys\.modules)\b",
)


def names_bound(project: Project, module: Module) -> frozenset[str] | None:
    """The names, with those of the project's modules that it imports all names of; None if they can't be determined."""
    return module.notes.cached(names_bound, lambda: _names_bound(project, module))


def _names_bound(project: Project, module: Module) -> frozenset[str] | None:
    names: set[str] = set()
    waiting: list[Module | None] = [module]
    for each in waiting:
        if each is None or any(map(each.mentions, _BINDS_ANY)):
            return None
        names |= bound_names(each.tree)
        waiting.extend(source for source in _all_imported_from(project, each) if source not in waiting)
    return frozenset(names)


def _all_imported_from(project: Project, module: Module) -> Iterator[Module | None]:
    """The modules of `from … import *`; None for one outside of the project."""
    for statement in of_class(module.tree, cst.ImportFrom):
        if isinstance(statement.names, cst.ImportStar):
            path = _imported_file(project, module, statement)
            yield project.module(path) if path is not None else None


def _imported_file(project: Project, module: Module, statement: cst.ImportFrom) -> Path | None:
    name = module.tree.code_for_node(statement.module) if statement.module is not None else ""
    if not statement.relative:
        return project.find(name, module)
    folder = next(iter(module.path.parents[len(statement.relative) - 1 : len(statement.relative)]), None)
    base = folder.joinpath(*filter(None, name.split("."))) if folder is not None else None
    candidates = (base / "__init__.py", base.with_suffix(".py")) if base is not None else ()
    return next((each for each in candidates if project.has_file(each)), None)
