"""Code that a flag of its object switches off: it does not run as shipped, until somebody sets the flag.

For example:

    class Evaluator:
        def __init__(self, folder):
            self.draws = False                          and nothing else sets an attribute of this name
        def evaluate(self, batch):
            if self.draws:
                save(batch, self.folder)                not run
"""

from __future__ import annotations

import re
from functools import partial

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import conditions_at
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import self_attribute

_SETS = (
    rb"\bself\.%b[ \t]*(?::[^=\n]+)?=[ \t]*(True|False)[ \t]*$"  # the one that says how it is
    rb"|\b%b[ \t]*(?::[^=\n,()]+)?=(?!=)|[\"']%b[\"']"  # others: also a keyword, a field, by its name in a string
)
# Code that can set attributes that do not appear in the text.
_SETS_ANY = rb"\bsetattr\(\s*self\b|\bself\.__dict__\b|\bvars\(\s*self\b"


def is_switched_off_by_object(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is reached only if a flag of its object has a value that it never has."""
    asked = [(name, holds) for test, holds in conditions_at(module.tree, node) if (name := self_attribute(test))]
    if not asked or module.mentions(_SETS_ANY):
        return False
    return any(_only_value(project, module, name) is (not holds) for name, holds in asked)


def _only_value(project: Project, module: Module, name: str) -> bool | None:
    """The value that the module sets an attribute of this name to, if the linted files set no other anywhere."""
    return project.of_linted((_only_value, module.path, name), partial(_value_set, project, module, name))


def _value_set(project: Project, module: Module, name: str) -> bool | None:
    sets = re.compile(_SETS.replace(b"%b", name.encode()), re.MULTILINE)
    found = [(path, match[1]) for path, code in project.linted_code(name) for match in sets.finditer(code)]
    match found:
        case [(path, (b"True" | b"False") as value)] if path == module.path:
            return value == b"True"
    return None
