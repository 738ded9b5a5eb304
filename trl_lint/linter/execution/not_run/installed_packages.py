"""Whether a file is in a package that may be installed: the code of its users calls what is in it."""

from __future__ import annotations

from pathlib import Path

from trl_lint import files
from trl_lint.analysis.program.project.project import Module, Project


def may_be_installed(project: Project, module: Module) -> bool:
    """Whether a file is in a package of a project that says how it is installed, or its project is not known."""
    home = module.engines().home
    is_in_package = project.has_file(module.path.parent / "__init__.py")
    return not home or (is_in_package and any(project.has_file(Path(home) / each) for each in files.INSTALL_MARKS))
