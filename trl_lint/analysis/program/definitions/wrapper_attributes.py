"""Attributes that code sets on a wrapper: they belong to the wrapper, so reading them does not fail.

    model = DDP(model)
    model.hyp = hyp                                 from here on the wrapper has it
    loss = compute_loss(pred, targets, model)       reads `model.hyp`, in another function or file

An attribute that is set on its class, every wrapper has from then on:

    type(model).config = property(lambda self: self.module.config)

Attributes that were set on the model before it was wrapped are not found on the wrapper. Nor are those that are set on
the wrapper after the first call of the method that reads them:

    self.model = DDP(model)
    for epoch in range(epochs):
        self.train_epoch()                          reads `self.model.hyp`: missing in the first epoch
        self.model.hyp = hyp

Nor are those that are set where the model is taken for bare:

    if torch.cuda.is_available():
        model.module.hyp = hyp
    else:
        model.hyp = hyp
    model(rows, model.hyp)                          missing where the model is wrapped
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions import set_by_name
from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.syntax import (
    ancestors,
    below,
    definitions_around,
    innermost,
    inwards,
    last_name,
    names_in,
    of_class,
    precedes,
    self_attribute,
)
from trl_lint.knowledge.models import INNER_MODEL

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Project
    from trl_lint.domain.provenance import Step

# Statements whose code may not run when their function is called for the first time.
_CONDITIONS = (cst.If, cst.IfExp, cst.BooleanOperation, cst.Try, cst.While, cst.Match)


def is_set_on_wrapper(project: Project, step: Step, name: str, reader: cst.CSTNode, read: cst.CSTNode) -> bool:
    """Whether code sets the attribute `name` on the result of a call that wraps a model.

    step: that call. In the function of the call the assignment has to be below the call; if an object keeps
    the wrapper (`self.model = DDP(model)`), it may be in another method of the class. Assignments in `reader`, the
    function with the `read`, do not count: the analysis of that function already knows what came before. It does not
    know what is set by its name (`setattr(model, name, value)`), nor on the class (`type(model).x = …`).
    """
    tree, wrapping = step.module.tree, step.node
    wrapping_assignment = innermost(tree, wrapping, cst.Assign)
    if wrapping_assignment is None:
        return False
    around = definitions_around(tree, wrapping)
    holders = list(_bound(wrapping_assignment))
    if any(self_attribute(each) for each in holders):
        around = [each for each in around if isinstance(each, cst.ClassDef)]
    root = around[-1] if around else tree
    if set_by_name.may_be_set(project, step.module.path, of_class(root, cst.Call), name, holders):
        return True
    assignments = list(of_class(root, cst.Assign))
    later = assignments[next(place for place, each in enumerate(assignments) if each is wrapping_assignment) + 1 :]
    if any(_sets_on_class(each, name, holders) and not _comes_after(reader, read, each) for each in later):
        return True
    in_reader = {id(each) for each in of_class(reader, cst.Assign)}
    setting = [each for each in later if id(each) not in in_reader and _sets(each, name, holders)]
    return bool(setting) and not (
        isinstance(root, cst.ClassDef)
        and isinstance(reader, cst.FunctionDef)
        and _is_read_first(root, wrapping_assignment, setting, reader, read)
    )


def is_set_by_caller(project: Project, function: FunctionInfo, name: str) -> bool:
    """Whether code sets an attribute on an object right where it passes that to a function, or a constructor.

    model = wrap(model)                             a helper of the project that returns the wrapper
    model.hyp = hyp
    loss = ComputeLoss(model)                       reads `model.hyp`
    """
    is_constructor = function.cls is not None and function.name == CONSTRUCTOR
    called = function.cls.name if function.cls is not None and is_constructor else function.name
    return _is_set_before_call_of(project, called, name)


@noted_of_linted
def _is_set_before_call_of(project: Project, called: str, name: str) -> bool:
    """The same for all functions and classes of a name: in a collection of programs, each has a `main`."""
    mentioned = re.compile(rb"\w\." + name.encode() + rb"\s*=(?!=)")
    paths = [path for path, code in project.linted_code(called) if mentioned.search(code)]
    trees = (module.tree for path in paths if (module := project.module(path)) is not None)
    return any(_sets_before_call(tree, called, name) for tree in trees)


def _sets_before_call(tree: cst.Module, called: str, name: str) -> bool:
    for call in of_class(tree, cst.Call):
        if last_name(call.func) == called:
            root = innermost(tree, call, cst.FunctionDef) or tree
            passed = [arg.value for arg in call.args if isinstance(arg.value, cst.Name)]
            if any(_has_then(root, model, name, call) for model in passed):
                return True
    return False


def _has_then(root: cst.CSTNode, model: cst.Name, name: str, call: cst.Call) -> bool:
    """Whether an attribute of a variable is set before a call, and the variable is not bound again in between."""
    before = [each for each in of_class(root, cst.Assign) if precedes(root, each, call)]
    bound = [place for place, each in enumerate(before) if any(model.deep_equals(to) for to in _bound(each))]
    setting = (each for each in before[max(bound, default=-1) + 1 :] if _sets(each, name, [model]))
    targets = (target for each in setting for target in _bound(each) if isinstance(target, cst.Attribute))
    return not all(is_set_on_bare_model(root, each) for each in targets)


def is_set_on_bare_model(root: cst.CSTNode, target: cst.Attribute) -> bool:
    """Whether the other branch of a condition around `model.x = …` sets `model.module.x` instead."""
    for node, part in inwards(root, target):
        if isinstance(node, cst.If) and part in (node.body, node.orelse):
            other = node.orelse if part is node.body else node.body
            if other is not None and any(_is_on_module(each, target) for each in of_class(other, cst.AssignTarget)):
                return True
    return False


def _is_on_module(assigned: cst.AssignTarget, target: cst.Attribute) -> bool:
    match assigned.target:
        case cst.Attribute(value=cst.Attribute(value=model, attr=cst.Name(value=inner)), attr=cst.Name(value=name)):
            return inner == INNER_MODEL and name == target.attr.value and model.deep_equals(target.value)
    return False


def _sets(statement: cst.Assign, name: str, holders: Sequence[cst.BaseExpression]) -> bool:
    return any(
        target.attr.value == name and any(target.value.deep_equals(holder) for holder in holders)
        for target in _bound(statement)
        if isinstance(target, cst.Attribute)
    )


def _sets_on_class(statement: cst.Assign, name: str, holders: Sequence[cst.BaseExpression]) -> bool:
    """`type(model).name = value`, `model.__class__.name = value`"""
    return any(
        target.attr.value == name and any(owner.deep_equals(holder) for holder in holders)
        for target in _bound(statement)
        if isinstance(target, cst.Attribute) and (owner := set_by_name.object_of_class(target.value)) is not None
    )


def _comes_after(reader: cst.CSTNode, read: cst.CSTNode, statement: cst.Assign) -> bool:
    """Whether the function that reads an attribute sets it later."""
    return bool(ancestors(reader, statement)) and precedes(reader, read, statement)


def _bound(statement: cst.Assign) -> Iterator[cst.BaseExpression]:
    """The targets of an assignment, the elements of a tuple one by one."""
    for each in statement.targets:
        if isinstance(each.target, cst.Tuple):
            yield from (element.value for element in each.target.elements)
        else:
            yield each.target


def _is_read_first(
    cls: cst.ClassDef,
    wrapping_assignment: cst.Assign,
    setting: Sequence[cst.Assign],
    reader: cst.FunctionDef,
    read: cst.CSTNode,
) -> bool:
    """Whether the wrapping method calls the reader before the attribute is set, and the reader always reads it."""
    if any(isinstance(each, _CONDITIONS) for each in ancestors(reader, read)):
        return False
    method = next(each for each in reversed(ancestors(cls, wrapping_assignment)) if isinstance(each, cst.FunctionDef))
    order = {id(each): index for index, each in enumerate(below(method))}
    calls_after = [each for each in of_class(method, cst.Call) if order[id(each)] > order[id(wrapping_assignment)]]
    first = next((each for each in calls_after if self_attribute(each.func) == reader.name.value), None)
    if first is None or _may_be_skipped_first(method, first):
        return False
    between = [each for each in calls_after if order[id(each)] < order[id(first)] and self_attribute(each.func)]
    if any(id(each) in order and order[id(each)] < order[id(first)] for each in setting):
        return False
    setting_ids = {id(each) for each in setting}
    return not any(id(each) in setting_ids for each in _assignments_run_by(cls, between))


def _may_be_skipped_first(method: cst.FunctionDef, call: cst.Call) -> bool:
    """Whether a call may be skipped in the first iteration of a loop: a condition depends on the loop's variable."""
    around = ancestors(method, call)
    counted = frozenset[str]().union(*(names_in(each.target) for each in around if isinstance(each, cst.For)))
    tests = [each.test for each in around if isinstance(each, (cst.If, cst.While, cst.IfExp))]
    return any(not counted.isdisjoint(names_in(each)) for each in tests)


def _assignments_run_by(cls: cst.ClassDef, calls: Sequence[cst.Call]) -> Iterator[cst.Assign]:
    """The assignments in the methods that calls on `self` run, directly or through other methods of the class."""
    methods = {each.name.value: each for each in cls.body.body if isinstance(each, cst.FunctionDef)}
    todo, done = [self_attribute(each.func) for each in calls], set[str]()
    while todo:
        name = todo.pop()
        if name in done or name not in methods:
            continue
        done.add(name)
        yield from of_class(methods[name], cst.Assign)
        todo += [self_attribute(each.func) for each in of_class(methods[name], cst.Call)]
