"""Parameters that are wrapped models by their annotation alone, of functions that are used as values.

def episodic(model: DDP): …            no call by its name, which would show what it is given

validate = episodic if args.episodic else standard
validate(net)                          a call all the same: the annotation may be wrong
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo, Parameter
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import of_class, value_names
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.provenance import OnlyAnnotated, Step
from trl_lint.domain.values import Value, Wrapping


def on_trust(project: Project, function: FunctionInfo, parameter: Parameter, value: Value) -> Value:
    """The value of a parameter of a function that no code in sight calls, with the reason why it may be another one."""
    step = value.provenance
    if step is None or step.node is not parameter.node or not _is_on_trust(project, function, parameter, value):
        return value
    return value.replace(provenance=OnlyAnnotated(step.module, step.node, step.text, step.before))


def of_unknown(project: Project, function: FunctionInfo, parameter: Parameter, value: Value) -> Value:
    """The value of a parameter, by its annotation, of a function that is called with an argument of unknown class."""
    if not _is_on_trust(project, function, parameter, value):
        return value
    return value.replace(provenance=_annotation_of(function.module, parameter))


def _annotation_of(module: Module, parameter: Parameter) -> Step:
    """The reason why it counts as wrapped: one object for all calls, as reasons are compared by identity."""
    text = f"`{parameter.name}` is the wrapped model"
    return module.notes.cached((_annotation_of, parameter.node), lambda: OnlyAnnotated(module, parameter.node, text))


def _is_on_trust(project: Project, function: FunctionInfo, parameter: Parameter, value: Value) -> bool:
    """Whether only the annotation says that a parameter is wrapped, and the function is used as a value."""
    if parameter.annotation is None or function.cls is not None or wrapping_of(value) is not Wrapping.WRAPPED:
        return False
    return _is_used_as_value(project, function.name)


@noted_of_linted
def _is_used_as_value(project: Project, name: str) -> bool:
    """Whether linted code uses a name as a value, and does not only import or call it."""
    modules = (project.module(path) for path, _ in project.linted_code(name))
    return any(name in _values(module.tree) for module in modules if module is not None)


def _values(tree: cst.Module) -> Iterator[str]:
    """The names that a file uses as values: not those that it calls, defines, imports or assigns."""
    aside: set[int] = {id(call.func) for call in of_class(tree, cst.Call)}
    aside |= {id(each.name) for each in of_class(tree, cst.FunctionDef)}
    aside |= {id(each.name) for each in of_class(tree, cst.ImportAlias)}
    aside |= {id(each.name) for each in of_class(tree, cst.Param)}
    aside |= {id(each.target) for each in of_class(tree, cst.AssignTarget)}
    return (each.value for each in value_names(tree) if id(each) not in aside)
