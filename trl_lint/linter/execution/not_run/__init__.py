"""Code that never runs as shipped, judged by the linted files: its findings are not in the default set.

Each module checks for one reason.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.linter.execution.not_run.broken_imports import cannot_be_imported
from trl_lint.linter.execution.not_run.copied_libraries import is_of_copied_library
from trl_lint.linter.execution.not_run.default_arguments import is_behind_default
from trl_lint.linter.execution.not_run.empty_entries import goes_over_nothing
from trl_lint.linter.execution.not_run.missing_settings import lacks_settings
from trl_lint.linter.execution.not_run.module_flags import is_switched_off
from trl_lint.linter.execution.not_run.object_flags import is_switched_off_by_object
from trl_lint.linter.execution.not_run.parts_of_models import is_of_part
from trl_lint.linter.execution.not_run.passed_over_definitions import is_passed_over
from trl_lint.linter.execution.not_run.refused_calls import gets_refused_calls_only
from trl_lint.linter.execution.not_run.unbound_names import is_behind_unbound_name
from trl_lint.linter.execution.not_run.uncalled_methods import is_uncalled
from trl_lint.linter.execution.not_run.undeclared_options import is_behind_undeclared_option
from trl_lint.linter.execution.not_run.unnamed_methods import is_unnamed
from trl_lint.linter.execution.not_run.unused_definitions import is_unused
from trl_lint.linter.execution.not_run.unused_versions import is_unused_version
from trl_lint.linter.execution.not_run.without_accelerator import is_without_accelerator
from trl_lint.linter.execution.not_run.without_validation import is_without_validation
from trl_lint.linter.execution.option_branches import is_behind_unused_option

_QUESTIONS = (
    is_unused,
    is_passed_over,
    is_switched_off,
    is_switched_off_by_object,
    is_uncalled,
    is_unnamed,
    is_unused_version,
    cannot_be_imported,
    lacks_settings,
    is_of_copied_library,
    is_without_accelerator,
    is_of_part,
    is_without_validation,
    goes_over_nothing,
    is_behind_unbound_name,
    is_behind_undeclared_option,
    gets_refused_calls_only,
    is_behind_default,
)


def never_runs(project: Project, module: Module, node: cst.CSTNode, *, mild: bool) -> bool:
    """Whether the code at a node never runs. mild: whether it would do little harm there, should somebody run it."""
    questions = (*_QUESTIONS, is_behind_unused_option) if mild else _QUESTIONS
    return any(question(project, module, node) for question in questions)
