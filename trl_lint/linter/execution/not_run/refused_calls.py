"""Methods that get only calls that Python refuses, by their arguments: nothing in them is ever run.

class Trainer:
    def __init__(self, model, path):
        self.model = model
        if os.path.exists(path):
            self._load(path)                TypeError: `_load` takes no argument
        self.model = DDP(self.model)
    def _load(self):
        self.model.load_state_dict(…)       not run as shipped; as it is meant, the model is bare here
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around, of_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.values import UNKNOWN
from trl_lint.linter.execution.linted_programs import lints_program


def gets_refused_calls_only(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in such a method, which is named nowhere else, and a program is linted.

    Another class may have a private method of the same name.
    """
    method = _method_around(module, node)
    if method is None or method.decorators or method.name.startswith("__") or _is_of_base(method):
        return False
    calls = _own_calls(module, method)
    if not calls or not all(_is_refused(method, each) for each in calls):
        return False
    is_elsewhere = any(_is_named(project, path, method.name) for path in project.linted if path != module.path)
    return not is_elsewhere and count_of(method.name, module.code) == len(calls) + 1 and lints_program(project)


def _method_around(module: Module, node: cst.CSTNode) -> FunctionInfo | None:
    classes = {id(cls.node): cls for cls in module.classes}
    for outer, inner in pairwise(definitions_around(module.tree, node)):
        cls = classes.get(id(outer))
        if cls is not None and isinstance(inner, cst.FunctionDef):
            return cls.methods.get(inner.name.value)
    return None


def _is_of_base(method: FunctionInfo) -> bool:
    """Whether a base has such a method as well: its own calls may run this one."""
    return method.cls is not None and method.cls.find_above(method.name) is not None


def _own_calls(module: Module, method: FunctionInfo) -> list[cst.Call]:
    """The calls of a method on `self`, in its class."""
    found = of_class(module.tree if method.cls is None else method.cls.node, cst.Call)
    return [each for each in found if _is_on_self(each.func, method.name)]


def _is_on_self(func: cst.BaseExpression, name: str) -> bool:
    match func:
        case cst.Attribute(cst.Name("self"), cst.Name(called)):
            return called == name
    return False


def _is_refused(method: FunctionInfo, call: cst.Call) -> bool:
    if any(each.star for each in call.args):
        return False
    positional = [UNKNOWN for each in call.args if each.keyword is None]
    keywords = {each.keyword.value: UNKNOWN for each in call.args if each.keyword is not None}
    return not Arguments(positional, keywords).fit(method.parameters[1:])


def _is_named(project: Project, path: Path, name: str) -> bool:
    """Whether a file names a method, and not one of its own, which may also be that of an heir and call it."""
    if not project.mentions(path, name) or not count_of(name, code := project.code(path)):
        return False
    is_own = name.startswith("_") and b"def %b(" % name.encode() in code
    return not is_own or b").%b(" % name.encode() in code
