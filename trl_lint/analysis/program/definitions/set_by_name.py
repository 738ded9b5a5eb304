"""Attributes that code sets on a wrapper by their names: which ones, only a run shows.

for name in NAMES:
    setattr(model, name, getattr(net, name))
model.__dict__.update(width=4)
copy_attributes(model, net, include=NAMES)      a function of the project that does so with this argument

But a loop over `dir(model)` that sets what it finds there adds none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from trl_lint.analysis.program.project.import_lines import imported_files
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import of_class

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Project

# Whether an expression is what is asked about.
_Test: TypeAlias = Callable[[cst.BaseExpression], bool]


def may_be_set(
    project: Project, path: Path, calls: Iterable[cst.Call], name: str, holders: Sequence[cst.BaseExpression]
) -> bool:
    """Whether one of the calls in a file may set the attribute `name` of what one of the `holders` is."""
    named = {each.value for each in holders if isinstance(each, cst.Name)}
    others = [each for each in holders if not isinstance(each, cst.Name)]

    def is_holder(node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Name):
            return node.value in named
        return any(node.deep_equals(each) for each in others)

    return any(
        _sets(call, name, is_holder) or _passes_to_setter(project, path, call, name, is_holder) for call in calls
    )


def _sets(call: cst.Call, name: str, is_holder: _Test) -> bool:
    """`setattr(model, name, value)`, `setattr(type(model), …)`, `model.__dict__.update(…)`, `vars(model).update(…)`"""
    match call.func:
        case cst.Name(value="setattr") if len(call.args) > 1 and _is_or_is_class_of(call.args[0].value, is_holder):
            text = call.args[1].value
            return not isinstance(text, cst.SimpleString) or text.evaluated_value == name
        case cst.Attribute(value=cst.Attribute(value=owner, attr=cst.Name(value="__dict__")), attr=cst.Name("update")):
            return is_holder(owner)
        case cst.Attribute(value=cst.Call(func=cst.Name("vars"), args=[cst.Arg(value=owner)]), attr=cst.Name("update")):
            return is_holder(owner)
    return False


def _is_or_is_class_of(node: cst.BaseExpression, is_holder: _Test) -> bool:
    return is_holder(object_of_class(node) or node)


def _passes_to_setter(project: Project, path: Path, call: cst.Call, name: str, is_holder: _Test) -> bool:
    """Whether a function that a call may be of sets the attribute of an argument that is a holder."""
    passed = [(place, arg.keyword) for place, arg in enumerate(call.args) if is_holder(arg.value)]
    if not passed or not isinstance(call.func, (cst.Name, cst.Attribute)):
        return False
    called = call.func if isinstance(call.func, cst.Name) else call.func.attr
    return any(
        _sets_parameter(function, name, place, keyword)
        for function in _functions(project, path, called.value)
        for place, keyword in passed
    )


def _sets_parameter(function: cst.FunctionDef, name: str, place: int, keyword: cst.Name | None) -> bool:
    """Whether a function sets the attribute of its parameter at a place, or with a name."""
    parameters = [each.name.value for each in function.params.params]
    parameter = keyword.value if keyword is not None else parameters[place] if place < len(parameters) else ""

    def is_parameter(node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Name) and node.value == parameter

    return bool(parameter) and any(
        _sets(each, name, is_parameter) and not _sets_what_is_there(function, each)
        for each in of_class(function, cst.Call)
    )


def _sets_what_is_there(function: cst.FunctionDef, call: cst.Call) -> bool:
    """`setattr(model, name, value)` in a loop `for name in dir(model)`."""
    match call.args:
        case [cst.Arg(value=owner), cst.Arg(value=cst.Name() as name), *_]:
            listed = [each.iter for each in of_class(function, cst.For) if each.target.deep_equals(name)]
            return bool(listed) and all(_lists_attributes(each, owner) for each in listed)
    return False


def _lists_attributes(node: cst.BaseExpression, owner: cst.BaseExpression) -> bool:
    match node:
        case cst.Call(func=cst.Name("dir"), args=[cst.Arg(value=listed)]):
            return listed.deep_equals(owner)
    return False


def _functions(project: Project, path: Path, name: str) -> Iterator[cst.FunctionDef]:
    """The functions of this name at the top of a file, and of those that it imports."""
    start = f"def {name}(".encode()
    for each in _with_imported(project, path):
        module = project.module(each) if start in project.text(each) else None
        for statement in () if module is None else module.tree.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
                yield statement


@noted
def _with_imported(project: Project, path: Path) -> tuple[Path, ...]:
    """A file, and those that it imports."""
    return tuple(dict.fromkeys((path, *imported_files(project, path, project.text(path)))))


def object_of_class(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The `model` of `type(model)` and `model.__class__`."""
    match node:
        case cst.Call(func=cst.Name("type"), args=[cst.Arg(value=subject)]):
            return subject
        case cst.Attribute(value=subject, attr=cst.Name("__class__")):
            return subject
    return None
