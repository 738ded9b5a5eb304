"""Old versions of a class next to the one in use: nothing runs them.

For example:

    old_trainer.py       class MyTrainer(DPOTrainer): …      no longer imported,
    new_trainer.py       class MyTrainer(DPOTrainer): …      programs import this one
"""

from __future__ import annotations

import re
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.launch.judge.engines import is_program


def is_unused_version(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a class for which another version of its file is imported instead.

    That version has a class of the same name; the node's own file is neither imported nor a program.
    """
    around = definitions_around(module.tree, node)
    top = next((each for each in around if isinstance(each, cst.ClassDef)), None)
    beside = [path for path in project.linted if path != module.path and _are_versions(path, module.path)]
    if top is None or not beside or is_program(module.source or b"") or module.engines().imported:
        return False
    defines = re.compile(rb"^class +%b\b" % top.name.value.encode(), re.MULTILINE)
    return any(defines.search(project.text(path)) and project.engines_for(path).imported for path in beside)


def _are_versions(one: Path, other: Path) -> bool:
    """Whether two files are in one folder and share a word of their names: `ppo.py` is no version of `grpo.py`."""
    return one.parent == other.parent and not _words(one).isdisjoint(_words(other))


def _words(path: Path) -> set[str]:
    return set(re.findall(r"[^\W\d_]+", path.stem))
