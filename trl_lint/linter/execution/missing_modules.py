"""Modules of its own project that a file imports and that lie in no folder of it, or of the projects around.

codec/train.py    from utils.utils import Logger    copied from a code base with utils/utils.py: here is none
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.domain.engines import EnginesInUse
from trl_lint.knowledge.heuristics import OWN_FOLDER
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan


def with_missing(found: EnginesInUse, path: Path, projects: Mapping[Path, ProjectScan]) -> EnginesInUse:
    """What is known of how a file is run, with the modules that it lacks.

    projects: its own project, and those around it, by folder.
    """
    if not all(each.whole for each in projects.values()):
        return found
    lines = import_lines(content_of(path))
    named = {name for module, names in lines for name in ((module,) if module else names)}
    own = {each for each in named if "." in each and OWN_FOLDER.fits(each.partition(".")[0])}
    return found._replace(missing=frozenset(each for each in own if not _is_anywhere(each, projects)))


def _is_anywhere(name: str, projects: Mapping[Path, ProjectScan]) -> bool:
    """Whether a module of this name, or a folder, is in any folder of these projects."""
    ends = tuple(f"/{name.replace('.', '/')}{mark}" for mark in "./")
    return any(
        any(end in f"/{each}" for each in scan.importers.code for end in ends) or _is_unread(name, folder, scan)
        for folder, scan in projects.items()
    )


def _is_unread(name: str, home: Path, scan: ProjectScan) -> bool:
    """Whether it is there without Python code that was read: compiled, behind a link, or excluded."""
    first, *below, last = name.split(".")
    around = {folder for each in scan.importers.code for folder in PurePosixPath(each).parents}
    found = (Path(home, folder, first) for folder in around)
    return any(any(Path(each, *below).glob(f"{last}*")) for each in found if os.path.isdir(each))
