"""Definitions of a program that neither it nor any other linted file uses: they never run.

class Saver(TrainerCallback): …           trainer.add_callback(Saver()) is commented out
def main(): …
if __name__ == "__main__": main()
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.launch.judge.engines import is_program

# Code that runs functions and classes without naming them.
_RUNS_ALL = rb"\bFire\(|\bunittest\.main\b|\bpytest\.main\b|\bglobals\(\)"


def is_unused(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a top-level function or class of a program whose name appears nowhere else.

    A decorator may register what it decorates. Names in strings count, those in comments do not.
    """
    top = next(iter(definitions_around(module.tree, node)), None)
    if top is None or top.decorators or not is_program(module.source or b"") or module.mentions(_RUNS_ALL):
        return False
    name = top.name.value
    if count_of(name, module.code) > 1:
        return False
    return not any(name.encode() in code for path, code in project.linted_code(name) if path != module.path)
