"""Definitions of a program that it never uses: nothing of them runs, as nobody imports a program for its parts.

class Saver(TrainerCallback): …           trainer.add_callback(Saver()) is commented out
def main(): …
if __name__ == "__main__": main()
"""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.program.project import Module
from trl_lint.analysis.program.syntax import ancestors

_PROGRAM = rb"""(?m)^if\s+__name__\s*==\s*["']__main__["']"""


def is_unused(module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is in a function or class of a program, at its top, whose name stands nowhere else in it.

    A decorator may register what it is put on. Names in strings count, those in comments do not.
    """
    around = ancestors(module.tree, node)
    top = next((each for each in (*around, node) if isinstance(each, (cst.FunctionDef, cst.ClassDef))), None)
    if top is None or top.decorators or not module.mentions(_PROGRAM):
        return False
    name = re.escape(top.name.value).encode()
    return len(re.findall(rb"(?<!\w)%b(?!\w)" % name, module.code)) == 1
