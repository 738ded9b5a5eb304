"""Definitions that nothing uses, beside others of their file that a program imports by name: see `passed_over`."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.linter.execution.not_run.unused_definitions import means_its_own


def is_passed_over(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in such a definition at the top level of a file, which no linted file of any project names.

    A decorator may register what it decorates.
    """
    top = next(iter(definitions_around(module.tree, node)), None)
    if top is None or top.decorators or top.name.value not in module.engines().passed_over:
        return False
    name = top.name.value
    others = (code for path, code in project.linted_code(name) if path != module.path)
    return all(count_of(name, code) == 0 or means_its_own(name, code) for code in others)
