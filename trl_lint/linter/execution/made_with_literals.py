"""Objects made with arguments for which their constructor does not wrap the model: what reads it from them, and methods
that are only called on them.

For example:

    class Runner:
        def __init__(self, local_rank):
            if local_rank != -1:
                self.net = DDP(self.net)
        def infer(self, rows): return self.net.flow(rows)       the model is bare wherever this is called

    runner = Runner(-1)                                         in one file
    runner.infer(rows)
    runner = Runner(local_rank)                                 in another one, which calls other methods
    runner.update(rows)

    runner = Runner(-1)
    runner.net.flow(rows)                                       read where the object is made

Methods and objects are followed by their names in all linted files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

import libcst as cst

from trl_lint.analysis.program.idioms.literal_tests import UNKNOWN, literal, outcome, tests_around
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_once,
    assigned_parts,
    attribute_values,
    callee_of,
    definitions_around,
    last_name,
    loop_targets,
    names_in,
    of_class,
    self_attribute,
)
from trl_lint.domain.provenance import steps
from trl_lint.knowledge.models import WRAP_FOR_RANKS, WRAPPER_CLASSES

if TYPE_CHECKING:
    from trl_lint.domain.provenance import Step
    from trl_lint.rules.base import Violation

_CONSTRUCTOR = "__init__"
_WRAPPERS = WRAPPER_CLASSES | WRAP_FOR_RANKS
# How many methods of the class lead to the one in question.
_DEEPEST = 3


class _Wrapped(NamedTuple):
    """A class whose constructor wraps the model, if these conditions on its parameters have these outcomes."""

    module: Module
    cls: cst.ClassDef
    constructor: cst.FunctionDef
    conditions: tuple[tuple[cst.BaseExpression, bool], ...]


def is_of_bare_objects(project: Project, violation: Violation) -> bool:
    """Whether the reason of a finding is void for the objects that it is about, all made with such arguments.

    They are those on which the method around the place is called, or the one of which the place reads the model.
    """
    if _is_read_from_bare(violation):
        return True
    match definitions_around(violation.module.tree, violation.node):
        case [cst.ClassDef() as cls, cst.FunctionDef() as method, *_] if method.name.value != _CONSTRUCTOR:
            wrapped = _wrapped_by(violation, cls)
            return wrapped is not None and _is_called_on_bare(project, wrapped, method.name.value, _DEEPEST)
    return False


def _is_read_from_bare(violation: Violation) -> bool:
    """Whether the model of a finding is read from an object that the function around makes: `runner.net.flow(…)`."""
    module, node = violation.module, callee_of(violation.node)
    match node:
        case cst.Attribute(value=cst.Attribute(value=cst.Name(owner), attr=cst.Name(model))) if owner != "self":
            around = definitions_around(module.tree, node)
            root = around[-1] if around else module.tree
            made = assigned_once(root, owner)
            if made is None or owner in _bound_otherwise(root):
                return False
            found = (_wrapped_at(step) for step in steps(violation.provenance))
            wrapped = next((each for each in found if each is not None), None)
            return wrapped is not None and _wraps_once(wrapped.cls, model) and _makes_bare(wrapped, module, made)
    return False


def _wraps_once(cls: cst.ClassDef, model: str) -> bool:
    """Whether one assignment to an attribute wraps it, that of the constructor, and no other method may wrap it."""
    wrapped = 0
    for method in of_class(cls, cst.FunctionDef):
        assigned = [value for name, value in attribute_values(method) if name == model]
        if method.name.value == _CONSTRUCTOR:
            wrapped += sum(bool(names_in(each) & _WRAPPERS) for each in assigned)
        elif assigned and names_in(method) & _WRAPPERS:
            return False
    return wrapped == 1


def _wrapped_by(violation: Violation, cls: cst.ClassDef) -> _Wrapped | None:
    """The class, if the reason for a finding lies in its constructor, under conditions."""
    found = (_wrapped_at(step) for step in steps(violation.provenance) if step.module.tree is violation.module.tree)
    return next((each for each in found if each is not None and each.cls is cls), None)


def _wrapped_at(step: Step) -> _Wrapped | None:
    """The class in whose constructor a reason lies, under conditions."""
    module = cast("Module", step.module)
    match definitions_around(module.tree, step.node):
        case [cst.ClassDef() as cls, cst.FunctionDef(name=cst.Name(value="__init__")) as constructor]:
            conditions = tuple(tests_around(constructor, step.node))
            return _Wrapped(module, cls, constructor, conditions) if conditions else None
    return None


def _is_called_on_bare(project: Project, wrapped: _Wrapped, method: str, depth: int) -> bool:
    uses = [
        use for use in _uses(project, method) if not isinstance(ancestors(use[0].tree, use[1])[-1], cst.FunctionDef)
    ]
    return bool(uses) and all(_is_use_of_bare(project, wrapped, module, use, depth) for module, use in uses)


def _uses(project: Project, name: str) -> Iterator[tuple[Module, cst.Name]]:
    for path, _ in project.linted_code(name):
        module = project.module(path)
        if module is not None:
            yield from ((module, each) for each in of_class(module.tree, cst.Name) if each.value == name)


def _is_use_of_bare(project: Project, wrapped: _Wrapped, module: Module, use: cst.Name, depth: int) -> bool:
    match ancestors(module.tree, use)[-1]:
        case cst.Attribute(value=cst.Name("self"), attr=attr) if attr is use:
            match definitions_around(module.tree, use):
                case [cst.ClassDef() as cls, cst.FunctionDef() as caller, *_] if cls is wrapped.cls and depth:
                    own = caller.name.value
                    return own != _CONSTRUCTOR and _is_called_on_bare(project, wrapped, own, depth - 1)
        case cst.Attribute(value=cst.Name(owner), attr=attr) if attr is use:
            return _is_bare_object(wrapped, module, owner)
    return False


def _is_bare_object(wrapped: _Wrapped, module: Module, name: str) -> bool:
    """Whether all that a file binds to a name are objects with a bare model, made here."""
    if name in _bound_otherwise(module.tree):
        return False
    values = [value for target, value in assigned_parts(module.tree) if getattr(target, "value", None) == name]
    return bool(values) and all(_makes_bare(wrapped, module, each) for each in values)


def _bound_otherwise(tree: cst.CSTNode) -> set[str]:
    """The names that parameters, loops, imports, `with` and `:=` bind, or assignments to parts of something unknown."""
    found = {each.name.value for each in of_class(tree, cst.Param)} | loop_targets(tree)
    for each in (*of_class(tree, cst.AsName), *of_class(tree, cst.CompFor), *of_class(tree, cst.ImportAlias)):
        found |= names_in(each)
    targets = [each.target for each in of_class(tree, cst.NamedExpr)]
    targets += [each.target for each in of_class(tree, cst.AnnAssign)]
    targets += [target for target, _ in assigned_parts(tree) if not isinstance(target, cst.Name)]
    return found.union(*map(names_in, targets))


def _makes_bare(wrapped: _Wrapped, module: Module, value: cst.BaseExpression) -> bool:
    """Whether an expression makes an object of the class with arguments for which one of the conditions fails."""
    if not isinstance(value, cst.Call) or last_name(value.func) != wrapped.cls.name.value:
        return False
    given = _given(wrapped, module, value)
    return any(outcome(test, given) is (not wanted) for test, wanted in wrapped.conditions)


def _given(wrapped: _Wrapped, module: Module, call: cst.Call) -> dict[str, object]:
    """The literals that a call gives to the parameters of the constructor, or that these have by default.

    They are also those of the attributes in which only the constructor keeps a parameter: `self.local_rank`.
    """
    if any(each.star for each in call.args):
        return {}
    parameters = [*wrapped.constructor.params.params[1:], *wrapped.constructor.params.kwonly_params]
    names = [each.name.value for each in parameters]
    given = {name: literal(wrapped.module, each.default) for name, each in zip(names, parameters, strict=True)}
    for position, each in enumerate(call.args):
        name = each.keyword.value if each.keyword is not None else names[position] if position < len(names) else ""
        given[name] = literal(module, each.value)
    changed = {target.value for target, _ in assigned_parts(wrapped.constructor) if isinstance(target, cst.Name)}
    known = {name: value for name, value in given.items() if value is not UNKNOWN and name not in changed}
    return {**known, **_kept(wrapped, known)}


def _kept(wrapped: _Wrapped, given: Mapping[str, object]) -> dict[str, object]:
    """What is known of the attributes that a class assigns once, and its constructor, under no condition."""
    everywhere = Counter(name for name, _ in attribute_values(wrapped.cls))
    everywhere.update(self_attribute(each.target) for each in of_class(wrapped.cls, cst.AugAssign))
    return {
        f"self.{name}": given[value.value]
        for name, value in attribute_values(wrapped.constructor)
        if everywhere[name] == 1
        and isinstance(value, cst.Name)
        and value.value in given
        and not any(tests_around(wrapped.constructor, value))
    }
