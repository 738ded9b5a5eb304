"""Files that can't be imported where they lie: a relative import at their top means a file that is not there.

src/own/trainer.py    from ..data_utils import pad      copied out of trl/trainer: src/data_utils.py is not there
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project import Module, Project
from trl_lint.knowledge.heuristics import MADE_IN_BUILDS


def cannot_be_imported(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether the file of a place has such an import; what it tries, or does on a condition, does not count."""
    return module.notes.worked_out(cannot_be_imported, lambda: _lacks_import(project, module))


def _lacks_import(project: Project, module: Module) -> bool:
    return os.path.isfile(module.path) and not all(_is_there(project, each) for each in _relative(module))


def _relative(module: Module) -> Iterator[Path]:
    """The modules, as paths without a suffix, that relative imports at the top of a file take something out of."""
    for line in module.tree.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.ImportFrom) and statement.relative and statement.module is not None:
                folder = module.path.parents[len(statement.relative) - 1 : len(statement.relative)]
                name = module.tree.code_for_node(statement.module)
                yield from (Path(each, *name.split(".")) for each in folder)


def _is_there(project: Project, path: Path) -> bool:
    """Whether a module is there, in whatever form."""
    if any(MADE_IN_BUILDS.fits(part) for part in path.parts[-2:]) or project.has_file(path.with_suffix(".py")):
        return True
    if project.has_file(path) or os.path.isdir(path):
        return True
    return os.path.isdir(path.parent) and any(name.startswith(f"{path.name}.") for name in os.listdir(path.parent))
