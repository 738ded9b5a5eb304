"""Files that can't be imported where they lie: a relative import at their top means what is not there.

src/own/trainer.py    from ..data_utils import pad      copied out of trl/trainer: src/data_utils.py is not there,
                      from .losses import dpo           or src/own/losses.py is, and binds no such name
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.knowledge.heuristics import MADE_IN_BUILDS
from trl_lint.linter.execution.not_run.bound_names import names_bound


def cannot_be_imported(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether the file of a place has such an import; what it tries, or does on a condition, does not count."""
    return module.notes.worked_out(cannot_be_imported, lambda: _lacks_import(project, module))


def _lacks_import(project: Project, module: Module) -> bool:
    imports = _relative(module) if os.path.isfile(module.path) else ()
    return not all(_is_there(project, path) and _binds(project, path, names) for path, names in imports)


def _relative(module: Module) -> Iterator[tuple[Path, list[str]]]:
    """The modules, as paths without a suffix, and what relative imports at the top of a file take out of them."""
    for line in module.tree.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.ImportFrom) and statement.relative and statement.module is not None:
                folder = module.path.parents[len(statement.relative) - 1 : len(statement.relative)]
                name = module.tree.code_for_node(statement.module)
                aliases = () if isinstance(statement.names, cst.ImportStar) else statement.names
                yield from (
                    (Path(each, *name.split(".")), [alias.evaluated_name for alias in aliases]) for each in folder
                )


def _binds(project: Project, path: Path, names: list[str]) -> bool:
    """Whether a module may bind these names: it does, or a module below it is called so, or it can't be told."""
    # A package counts before a module of its name.
    file = path / "__init__.py" if os.path.isdir(path) else path.with_suffix(".py")
    module = project.module(file) if project.has_file(file) else None
    bound = None if module is None or module.mentions(rb"\b__getattr__\b") else names_bound(module)
    return bound is None or all(name in bound or _is_there(project, path / name) for name in names)


def _is_there(project: Project, path: Path) -> bool:
    """Whether a module is there, in whatever form."""
    if any(MADE_IN_BUILDS.fits(part) for part in path.parts[-2:]) or project.has_file(path.with_suffix(".py")):
        return True
    if project.has_file(path) or os.path.isdir(path):
        return True
    return os.path.isdir(path.parent) and any(name.startswith(f"{path.name}.") for name in os.listdir(path.parent))
