"""Older versions of a class or function, kept beside the one in use: nothing runs them.

dpo_trainer.py       class MyTrainer(DPOTrainer): …      nobody imports it any more,
dpo_trainer_v2.py    class MyTrainer(DPOTrainer): …      and from here programs have theirs
"""

from __future__ import annotations

import re
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project import Module, Project
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.launch.judge.engines import is_program


def is_older_version(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a file beside, whose name is longer or shorter at its end, has what a place is in and is imported, while
    the place's own file is neither that nor a program.
    """
    around = (*ancestors(module.tree, node), node)
    top = next((each for each in around if isinstance(each, (cst.FunctionDef, cst.ClassDef))), None)
    if top is None or is_program(module.source or b""):
        return False
    beside = [path for path in project.linted if _may_be_version(path, module.path)]
    if not beside or module.engines().imported:
        return False
    defines = re.compile(rb"^(?:async def|class|def) +%b\b" % top.name.value.encode(), re.MULTILINE)
    return any(project.engines_for(path).imported and defines.search(project.text(path)) for path in beside)


def _may_be_version(path: Path, other: Path) -> bool:
    if path.parent != other.parent or path == other:
        return False
    shorter, longer = sorted((path.stem, other.stem), key=len)
    return longer.startswith(shorter)
