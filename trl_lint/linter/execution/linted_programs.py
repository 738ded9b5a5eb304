"""Whether a program is linted. If none is, the users of a definition are not linted either."""

from __future__ import annotations

from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.project.project import Project
from trl_lint.launch.judge.engines import is_program


@noted_of_linted
def lints_program(project: Project) -> bool:
    """Whether one of the linted files is a program."""
    return any(is_program(project.text(path)) for path in project.linted)
