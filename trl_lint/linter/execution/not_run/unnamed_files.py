"""Files of definitions that nothing in their project imports, beside a program that imports others: nothing runs them.

    train.py                 from losses import Margin        a program
    trainers/old_dpo.py      class OldTrainer(Trainer): …     nothing imports `old_dpo`

The files of a package that is installed are used by the code of its users, and tests by pytest. Settings may name what
is built (`target: trainers.old_dpo.OldTrainer`), and so may a text, or code that imports what it makes up a name for.
"""

from __future__ import annotations

import re
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.launch.judge.engines import is_program
from trl_lint.linter.execution.not_run.unnamed_methods import may_be_installed

# Code that imports what it makes up a name for: `import_module(f"models.{name}")`. A whole name that it is given is
# from settings, or from a text.
_IMPORTS_ANY = re.compile(
    rb"\b(?:iter_modules|run_path|run_module|spec_from_file_location|walk_packages)\("
    rb"|(?<!\w)(?:import_module|__import__)\((?:\s*[fF][\"']|[^)\n]*(?:[+%]|\.format\b|\.join\b))"
)
# Code that may import all files of a folder.
_IMPORTS, _OF_FOLDER = re.compile(rb"(?<!\w)(?:import_module|__import__)\("), re.compile(rb"\.py[\"']")
# Statements at the top of a file that only define something, or say what is imported and how it is checked.
_DEFINES = (cst.AnnAssign, cst.Assign, cst.ClassDef, cst.FunctionDef, cst.Import, cst.ImportFrom)


def is_in_unnamed_file(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in such a file, and a program of the project imports others.

    A decorator may register what it decorates.
    """
    top = next(iter(definitions_around(module.tree, node)), None)
    if top is None or top.decorators or module.path.stem == "__init__" or is_test_file(module.path):
        return False
    if is_program(module.source or b"") or module.engines().imported or may_be_installed(project, module):
        return False
    return _only_defines(module.tree) and not _is_named(project, module.path) and _has_programs(project, module.path)


def _only_defines(tree: cst.Module) -> bool:
    lines = [each for each in tree.body if isinstance(each, cst.SimpleStatementLine)]
    texts = [each for line in lines for each in line.body if isinstance(each, cst.Expr)]
    simple = [each for line in lines for each in line.body if not isinstance(each, cst.Expr)]
    blocks = [each for each in tree.body if not isinstance(each, (cst.SimpleStatementLine, cst.If, cst.Try))]
    return all(isinstance(each, _DEFINES) for each in (*simple, *blocks)) and not any(
        isinstance(each.value, cst.Call) for each in texts
    )


def _is_named(project: Project, path: Path) -> bool:
    """Whether a text or an attribute has the name of a file, or code imports files without naming them."""
    named = re.compile(rb"[\"'./:]%b\b" % re.escape(path.stem).encode())

    def found() -> bool:
        codes = (project.code(each) for each in linted_and_imported(project) if each != path)
        return any(named.search(code) or _may_import_any(code) for code in codes)

    return project.of_linted((is_in_unnamed_file, path), found)


def _may_import_any(code: bytes) -> bool:
    return bool(_IMPORTS_ANY.search(code) or (_IMPORTS.search(code) and _OF_FOLDER.search(code)))


def _has_programs(project: Project, path: Path) -> bool:
    """Whether some linted file is a program, and another file is imported."""
    others = [each for each in project.linted if each != path]
    return any(is_program(project.text(each)) for each in others) and any(
        project.engines_for(each).imported for each in others
    )
