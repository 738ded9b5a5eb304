"""The names that a file binds, anywhere in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import of_class
from trl_lint.fixes.support.scope import bound_names

# Code that can bind names that do not appear in the text.
_BINDS_ANY = (
    rb"\b(?:exec|execfile|globals|locals)\(|\bvars\(\s*\)",
    rb"\b(?:__builtins__|builtins|f_globals|sys\.modules|__getattr__)\b",
)
# Without any of it, a file that does not contain a name does not bind it.
_LEADS_ON = re.compile(b"|".join((rb"\bimport[ \t(\\]*\*", *_BINDS_ANY)))


def may_bind(project: Project, module: Module, names: Collection[str]) -> bool:
    """Whether a file may bind all of these names, itself or by importing all names of the project's modules."""
    left = set(names)
    waiting: list[Module | None] = [module]
    for each in waiting:
        if each is None or any(map(each.mentions, _BINDS_ANY)):
            return True
        left -= bound_names(each.tree)
        if not left:
            return True
        waiting.extend(source for source in _starred(project, each, left) if source not in waiting)
    return False


def may_bind_unseen(module: Module) -> bool:
    """Whether a file may bind names that do not appear in it."""
    starred = any(isinstance(each.names, cst.ImportStar) for each in of_class(module.tree, cst.ImportFrom))
    return starred or any(map(module.mentions, _BINDS_ANY))


def _starred(project: Project, module: Module, names: Collection[str]) -> Iterator[Module | None]:
    """The modules of `from … import *` that may lead to a name; None for one outside of the project."""
    for statement in of_class(module.tree, cst.ImportFrom):
        if isinstance(statement.names, cst.ImportStar):
            path = _imported_file(project, module, statement)
            if (
                path is None
                or _LEADS_ON.search(project.text(path))
                or any(project.mentions(path, each) for each in names)
            ):
                yield project.module(path) if path is not None else None


def _imported_file(project: Project, module: Module, statement: cst.ImportFrom) -> Path | None:
    name = module.tree.code_for_node(statement.module) if statement.module is not None else ""
    if not statement.relative:
        return project.find(name, module)
    folder = next(iter(module.path.parents[len(statement.relative) - 1 : len(statement.relative)]), None)
    base = folder.joinpath(*filter(None, name.split("."))) if folder is not None else None
    candidates = (base / "__init__.py", base.with_suffix(".py")) if base is not None else ()
    return next((each for each in candidates if project.has_file(each)), None)
