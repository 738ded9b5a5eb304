"""Classes of a library copied into a project that nothing outside the copy names: they are never instantiated.

train.py                       from trl import DPOTrainer        and the project's own programs
trl/trainer/ddpo_trainer.py    class DDPOTrainer: …              exists because the library was copied whole
trl/trl/trainer/ddpo_trainer.py                                  the same, in a checkout of the library
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around, used_names
from trl_lint.knowledge.heuristics import COPIED_LIBRARY
from trl_lint.launch.judge.engines import is_program

# What declares the name of a project, and how.
_METADATA = ("pyproject.toml", "setup.cfg", "setup.py")
_IMPORTS = rb"(?m)^\s*(?:from|import)\s+%b\b"
_NAMES = rb"(?m)^\s*name\s*=\s*[\"']?[\w.-]*%b"


class Copy(NamedTuple):
    """A copy of a library in a project.

    package: its folder. checkout: the folder of the whole checkout that contains it, if any; then its own programs,
    examples and tests, which name everything in it, do not count as uses.
    """

    package: Path
    checkout: Path | None

    def hides(self, project: Project, path: Path) -> bool:
        """Whether a mention of its classes in this file does not count as a use."""
        if self.package in path.parents:
            return path.name == "__init__.py" or (self.checkout is not None and is_program(project.text(path)))
        return self.checkout is not None and self.checkout in path.parents


def is_of_copied_library(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a class of such a copy that is named only in its own file and in files that re-export it.

    There must be programs outside the copy; otherwise the library itself may be what is linted.
    """
    copy = module.notes.worked_out(is_of_copied_library, lambda: _copy_around(project, module))
    top = next(iter(definitions_around(module.tree, node)), None)
    if copy is None or not isinstance(top, cst.ClassDef):
        return False
    name = top.name.value
    if any(name in used_names(each) for each in module.tree.body if each is not top):
        return False
    named_in = (path for path, code in project.linted_code(name) if count_of(name, code))
    return all(path == module.path or copy.hides(project, path) for path in named_in)


def _copy_around(project: Project, module: Module) -> Copy | None:
    """The copy of a library that contains a file, if the project is another one and has its own programs."""
    for folder in module.path.parents:
        if COPIED_LIBRARY.fits(folder.name) and project.has_file(folder / "__init__.py"):
            checkout = next((each for each in folder.parents if _is_of(project, each, folder.name)), None)
            outside = (path for path in project.linted if (checkout or folder) not in path.parents)
            if checkout is None:
                is_copy = any(is_program(project.text(path)) for path in outside)
            else:  # code that uses it is next to it; otherwise it is linted for itself
                beside = (path for path in outside if path.parent in checkout.parents)
                is_copy = any(re.search(_IMPORTS % folder.name.encode(), project.text(path)) for path in beside)
            return Copy(folder, checkout) if is_copy else None
    return None


def _is_of(project: Project, folder: Path, library: str) -> bool:
    """Whether a folder declares itself as a library's project, or the library is installed in it."""
    if any(re.search(_NAMES % library.encode(), text) for text in _metadata(project, folder)):
        return True
    return any(folder.glob(f"{library}-*.dist-info"))


def _metadata(project: Project, folder: Path) -> Iterator[bytes]:
    paths = (folder / name for name in _METADATA)
    return (project.text(path) for path in paths if project.has_file(path))
