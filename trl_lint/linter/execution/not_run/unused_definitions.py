"""Definitions of a program that neither it nor any other linted file uses: they never run.

    class Saver(TrainerCallback): …           trainer.add_callback(Saver()) is commented out
    def main(): …
    if __name__ == "__main__": main()

In a file of its own, the class is unused, too, if programs import it and do nothing with it. A file that defines the
name itself, as programs do that begin as copies of each other, means its own.
"""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.launch.judge.engines import is_program

# Code that runs functions and classes without naming them.
_RUNS_ALL = rb"\bFire\(|\bunittest\.main\b|\bpytest\.main\b|\bglobals\(\)"


# The statements that import names: `from train import (Saver, Timer)`.
_IMPORTS = re.compile(rb"(?m)^[ \t]*from[ \t]+[\w.]+[ \t]+import\b[ \t]*(?:\([^)]*\)|[^\n;(]*)")


def is_unused(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a top-level function or class whose name appears nowhere else, as far as it is known.

    The file, or each one that imports the name, is a program: the users of other files may be elsewhere. A decorator
    may register what it decorates. Names in strings count, those in comments do not.
    """
    top = next(iter(definitions_around(module.tree, node)), None)
    if top is None or top.decorators or module.mentions(_RUNS_ALL):
        return False
    name = top.name.value
    if count_of(name, module.code) > 1:
        return False
    others = (code for path, code in project.linted_code(name) if path != module.path)
    importers = [code for code in others if name.encode() in code and not means_its_own(name, code)]
    if not all(is_program(code) and _only_imports(name, code) for code in importers):
        return False
    return bool(importers) or is_program(module.source or b"")


def means_its_own(name: str, code: bytes) -> bool:
    """Whether a file defines a name at its top level, and neither imports it nor takes it from a module."""
    word = re.escape(name.encode())
    if re.search(rb"(?m)^(?:async[ \t]+)?(?:class|def)[ \t]+%b\b" % word, code) is None:
        return False
    imported = any(re.search(rb"\b%b\b" % word, each) for each in _IMPORTS.findall(code))
    return not imported and re.search(rb"\.[ \t]*%b\b" % word, code) is None


def _only_imports(name: str, code: bytes) -> bool:
    """Whether a file imports a name, under no other one, and does nothing with it."""
    renamed = re.search(rb"\b%b[ \t]+as\b" % name.encode(), code)
    return renamed is None and name.encode() not in _IMPORTS.sub(b"", code)
