"""Definitions of a program that neither it nor any other linted file, nor what these import, uses: they never run.

    class Saver(TrainerCallback): …           trainer.add_callback(Saver()) is commented out
    def main(): …
    if __name__ == "__main__": main()

In a file of its own, the class is unused, too, if programs import it and do nothing with it, also through packages that
hand it on. A file that defines the name itself, as programs do that begin as copies of each other, means its own.

    trainers/__init__.py    from .grpo import GRPOTrainer        __all__ = ["GRPOTrainer", "OmniTrainer"]
    train.py                from trainers import GRPOTrainer, OmniTrainer
                            trainer_cls = OmniTrainer
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.launch.judge.engines import is_program

# Code that runs functions and classes without naming them.
_RUNS_ALL = rb"\bFire\(|\bunittest\.main\b|\bpytest\.main\b|\bglobals\(\)"


# The statements that import names: `from train import (Saver, Timer)`.
_IMPORTS = re.compile(rb"(?m)^[ \t]*from[ \t]+[\w.]+[ \t]+import\b[ \t]*(?:\([^)]*\)|[^\n;(]*)")
# The names that `import *` takes from a file.
_HANDED_ON = re.compile(rb"(?m)^__all__[ \t]*\+?=[ \t]*(?:\[[^\]]*\]|\([^)]*\))")
# Code that finds what it has imported, or what packages hand on, without naming it.
_FINDS_OWN = re.compile(rb"(?<![.\w])(?:eval|exec|globals|locals|vars)\(|\bmodules\[[ \t]*__name__")
_FINDS_HANDED_ON = (
    rb"\b(?:getmembers|import_module|instantiate|locate|vars)\(|(?<!\w)__import__\("
    rb"|\bgetattr\(\s*(?:\w+\.)*%b\s*,|\b%b\.__dict__\b"
)


def is_unused(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a top-level function or class whose name appears nowhere else, as far as it is known.

    The file, or one that imports the name, is a program: the users of other files may be elsewhere. A decorator
    may register what it decorates. Names in strings count, those in comments do not.
    """
    top = next(iter(definitions_around(module.tree, node)), None)
    if top is None or top.decorators or module.mentions(_RUNS_ALL):
        return False
    name = top.name.value
    if count_of(name, module.code) > 1:
        return False
    others = {path: project.code(path) for path in linted_and_imported(project) if project.mentions(path, name)}
    others.pop(module.path, None)
    importers = {path: code for path, code in others.items() if count_of(name, code) and not means_its_own(name, code)}
    if not importers:
        return is_program(module.source or b"")
    if not all(_only_imports(name, code) for code in importers.values()):
        return False
    handing_on = [path for path, code in importers.items() if not is_program(code)]
    return len(handing_on) < len(importers) and not _may_be_found_in(project, handing_on)


def means_its_own(name: str, code: bytes) -> bool:
    """Whether a file defines a name at its top level, and neither imports it nor takes it from a module."""
    word = re.escape(name.encode())
    if re.search(rb"(?m)^(?:async[ \t]+)?(?:class|def)[ \t]+%b\b" % word, code) is None:
        return False
    imported = any(re.search(rb"\b%b\b" % word, each) for each in _IMPORTS.findall(code))
    return not imported and re.search(rb"\.[ \t]*%b\b" % word, code) is None


def _may_be_found_in(project: Project, files: Collection[Path]) -> bool:
    """Whether code may take what modules have imported by names that it makes up."""
    if not files:
        return False
    names = {path.parent.name if path.name == "__init__.py" else path.stem for path in files}
    found = re.compile(_FINDS_HANDED_ON % ((b"(?:%b)" % b"|".join(re.escape(each).encode() for each in names),) * 2))
    return any(found.search(project.code(path)) for path in linted_and_imported(project))


def _only_imports(name: str, code: bytes) -> bool:
    """Whether a file imports a name, under no other one, and does nothing with it but hand it on."""
    renamed = re.search(rb"\b%b[ \t]+as\b" % name.encode(), code)
    if renamed is not None or _FINDS_OWN.search(code) is not None:
        return False
    return not count_of(name, _HANDED_ON.sub(b"", _IMPORTS.sub(b"", code)))
