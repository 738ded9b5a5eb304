"""Flags that a class keeps, and that all code in sight which makes an object of it gives the same constant.

For example:

    class Evaluation:
        def __init__(self, every, on_all):
            self.on_all = on_all            True for all objects, unless other code sets it
        def run(self):
            if self.on_all: score()
            elif main: score()              no process gets here
    Evaluation(10, on_all=True)
    hook = Evaluation                       not known: it may be called anywhere
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.changed_state import is_set_on_other_object, is_set_outside_any_class
from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.definitions.fixed_flags import kept_parameters
from trl_lint.analysis.program.definitions.left_off import is_left_off
from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.program.project.notes import noted_in_file, noted_of_linted
from trl_lint.analysis.program.project.passed_arguments import argument_at
from trl_lint.analysis.program.syntax import last_name, of_class, operands, self_attribute

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.program.project.project import Module, Project

_FLAGS = {"False": False, "True": True}
# What may make an object of a class without its name.
_UNNAMED = frozenset({"__class__", "cls", "type"})
# Calls that name a class and make no object of it.
_ASKS = frozenset({"isinstance", "issubclass", "super"})
_LISTED = "__all__"


def flag_given(project: Project, cls: ClassInfo, name: str) -> bool | None:
    """The constant that an attribute of a class has in all objects that code in sight makes; None if none is known."""
    place = _tested(cls).get(name)
    if place is None and is_left_off(project, cls, name):
        return None if is_set_outside_any_class(project, name) else False
    if place is None or is_set_outside_any_class(project, name) or is_set_on_other_object(project, name):
        return None
    return _given(project, cls, *place)


@noted_in_file
def _tested(cls: ClassInfo) -> dict[str, tuple[int | None, str]]:
    """The attributes that methods test and only the constructor sets, by the place and the name of its parameter."""
    init = cls.methods.get(CONSTRUCTOR)
    if init is None or init.decorators or cls.node.decorators or cls.node.keywords:
        return {}
    branches: list[cst.If | cst.IfExp] = [*of_class(cls.node, cst.If), *of_class(cls.node, cst.IfExp)]
    tested = {self_attribute(part) for each in branches for part in operands(each.test)}
    rebound = {each.value for target in _targets(init.node) for each in _names(target)}
    of_bases = set().union(*(each.assigned() for each in cls.project_lineage()[1:]))
    places = [each.name for each in init.parameters[1:] if each.positional and not each.star]
    return {
        name: (places.index(each.name) if each.name in places else None, each.name)
        for name, each in kept_parameters(cls).items()
        if name in tested - of_bases and each.name not in rebound
    }


def _targets(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a piece of code binds."""
    yield from (each.target for each in of_class(node, cst.AssignTarget))
    yield from (each.target for each in of_class(node, cst.AugAssign))
    yield from (each.target for each in of_class(node, cst.AnnAssign))
    yield from (each.target for each in of_class(node, cst.For))
    yield from (each.target for each in of_class(node, cst.NamedExpr))


def _names(target: cst.CSTNode) -> Sequence[cst.Name]:
    """The names that a target binds, not those of the attributes that it sets."""
    return () if isinstance(target, cst.Attribute) else of_class(target, cst.Name)


@noted_of_linted
def _given(project: Project, cls: ClassInfo, place: int | None, parameter: str) -> bool | None:
    """The constant that all constructions in the linted files pass, if nothing else is done with the class there."""
    if not _UNNAMED.isdisjoint(each.value for each in of_class(cls.node, cst.Name)):
        return None
    if _is_defined_twice(project, cls.name):
        return None
    given: set[bool | None] = set()
    is_run, definitions = False, 0
    for path, _ in project.linted_code(cls.name):
        module = project.module(path)
        calls = None if module is None else _constructions(module, cls.name)
        if module is None or calls is None:
            return None
        definitions += sum(each.name.value == cls.name for each in of_class(module.tree, cst.ClassDef))
        given.update(_constant(each, place, parameter) for each in calls)
        is_run |= bool(calls) and not is_test_file(path)
    return given.pop() if len(given) == 1 and is_run and definitions == 1 else None


@noted_of_linted
def _is_defined_twice(project: Project, name: str) -> bool:
    """Whether the linted files have several classes of a name: then nothing is known, whatever else they do with it."""
    defines, found = re.compile(rb"\bclass[ \t]+%b\b" % re.escape(name).encode()), 0
    for path, code in project.linted_code(name):
        module = project.module(path) if defines.search(code) else None
        classes = () if module is None else of_class(module.tree, cst.ClassDef)
        found += sum(each.name.value == name for each in classes)
        if found > 1:
            return True
    return False


def _constructions(module: Module, name: str) -> list[cst.Call] | None:
    """The calls of a class in a file; None if the file does something else with it, or has it under another name."""
    tree = module.tree
    calls = [each for each in of_class(tree, cst.Call) if last_name(each.func) == name]
    listed = [each for each in of_class(tree, cst.Assign) if last_name(each.targets[0].target) == _LISTED]
    texts = sum(_is_text(each, name) for each in of_class(tree, cst.SimpleString))
    if texts > sum(_is_text(text, name) for each in listed for text in of_class(each, cst.SimpleString)):
        return None
    if any(_renames(each, name) for each in of_class(tree, cst.ImportAlias)):
        return None
    known = len(calls) + sum(_mentions(each, name) for each in _harmless(tree, name))
    return calls if known == _mentions(tree, name) else None


def _mentions(code: cst.CSTNode, name: str) -> int:
    return sum(each.value == name for each in of_class(code, cst.Name))


def _is_text(text: cst.SimpleString, name: str) -> bool:
    return text.raw_value == name


def _renames(imported: cst.ImportAlias, name: str) -> bool:
    return imported.asname is not None and imported.evaluated_name.rpartition(".")[2] == name


def _harmless(tree: cst.Module, name: str) -> Iterator[cst.CSTNode]:
    """The code that names a class and makes no object of it."""
    yield from of_class(tree, cst.ImportAlias)
    yield from of_class(tree, cst.Annotation)
    yield from (each.name for each in of_class(tree, cst.ClassDef) if each.name.value == name)
    for call in of_class(tree, cst.Call):
        if last_name(call.func) in _ASKS:
            yield from call.args


def _constant(call: cst.Call, place: int | None, parameter: str) -> bool | None:
    """The constant that a construction passes to a parameter; None if it passes something else, or nothing."""
    value = argument_at(call, place, parameter)
    return _FLAGS.get(value.value) if isinstance(value, cst.Name) else None
