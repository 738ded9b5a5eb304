"""Programs in folders of tests, which are no part of a project: the files next to them say how they are started.

tests/data/README.md        Run `python make_model.py`.
tests/data/make_model.py    one process
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trl_lint.domain.engines import EnginesInUse
from trl_lint.linter.execution.one_process_starts import is_one_process, is_started_on_several
from trl_lint.linter.execution.project_scan import ProjectScan
from trl_lint.linter.files.discovery import is_of_tests


def as_started_beside(
    found: EnginesInUse, path: Path, project: Path, known: Callable[[Path], ProjectScan]
) -> EnginesInUse:
    """What is known of a file, and whether all known starts of it are those of one process, if it is one of tests.

    known: what is known of a project, or of a folder of tests, by its path.
    """
    if found.one_process or not is_of_tests(path.parent, project):
        return found
    if is_started_on_several(known(project), {path.relative_to(project).as_posix()}):
        return found
    beside = known(path.parent)
    return found._replace(one_process=is_one_process(beside, path.name, beside.importers.programs_of(path.name)))
