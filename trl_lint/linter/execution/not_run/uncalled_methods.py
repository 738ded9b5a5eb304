"""Methods that no linted file calls, or makes the library call: no program runs them.

For example:

    class CardTrainer(Trainer):
        def create_model_card(self): …        called in a push to the hub
    TrainingArguments("out")                  nothing is pushed
"""

from __future__ import annotations

import re
from itertools import pairwise

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.knowledge.uncalled_methods import ONLY_ASKED_FOR, READS_SETTINGS, Asking
from trl_lint.linter.execution.linted_programs import lints_program

# The setting is set, or the method called; code that only reads it (`if self.args.push_to_hub:`) does not count.
_ASKED_FOR = rb"(?<!args\.)\b%b\b(?!\s*=\s*False\b)|(?<=args\.)%b\s*=(?!=|\s*False\b)"


def is_uncalled(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a method that a library calls only on request, and no linted program requests it.

    If no program is linted, the users are unknown, and so are settings from a command line.
    """
    found = _method_around(module, node)
    if found is None:
        return False
    name, asking = found
    runs = (
        (name, rb"(?<!\bdef )\b%b\b"),
        (asking.by, _ASKED_FOR),
        *((parser, rb"\b%b\b") for parser in READS_SETTINGS),
    )
    return not any(_stands(project, *each) for each in runs) and lints_program(project)


def _method_around(module: Module, node: cst.CSTNode) -> tuple[str, Asking] | None:
    """The name of such a method around a node, and what makes the library call it."""
    classes = {id(cls.node): cls for cls in module.classes}
    for outer, inner in pairwise(definitions_around(module.tree, node)):
        asking = ONLY_ASKED_FOR.get(inner.name.value)
        cls = classes.get(id(outer))
        if asking is not None and cls is not None and _libraries_above(cls) <= asking.classes:
            return inner.name.value, asking
    return None


def _libraries_above(cls: ClassInfo) -> set[str | None]:
    """The base classes from outside the project; None for an unknown one."""
    return {each for each in cls.lineage() if not isinstance(each, ClassInfo)}


def _stands(project: Project, name: str, pattern: bytes) -> bool:
    """Whether a linted file contains a name in this pattern."""
    wanted = re.compile(pattern.replace(b"%b", re.escape(name).encode()))
    return any(wanted.search(code) for _, code in project.linted_code(name))
