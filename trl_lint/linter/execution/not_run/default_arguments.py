"""Code behind a parameter that always has its default, because no call of the project passes it: it does not run.

For example:

    def rows_of(paths, part=1.0):
        if part != 1.0:
            os.remove(LIST)                             not run

    class Scores(Metric):
        def __init__(self, folder, saves=False):
            self.saves = saves                          and nothing else sets an attribute of this name
        def compute(self):
            if self.saves:
                self.table.to_csv(self.folder)          not run

    rows_of(train)
    rows_of(test, part=1.0)
    Scores("scores")

So is a function that is only called there. Calls are followed by the name of the function in all linted files: one that
hands the function on, an heir, or a name that is made up may pass anything. `return rows_of` is followed, if whoever
calls that function calls the result. A method that a library's class may have is called by the library, and what is in
a package that is installed by the code of its users.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.literal_tests import UNKNOWN, literal, outcome, tests_around
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.project.passed_arguments import argument_at
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import (
    ancestors,
    definitions_around,
    holder_name,
    last_name,
    of_class,
    positional_parameters,
)
from trl_lint.analysis.program.syntax import self_attribute as attribute_of_self
from trl_lint.fixes.support.scope import bound_targets
from trl_lint.linter.execution.linted_programs import lints_program
from trl_lint.linter.execution.not_run.installed_packages import may_be_installed
from trl_lint.linter.execution.single_branches import is_imported

_CONSTRUCTOR = "__init__"
_OUTSIDE = frozenset({"object", "builtins.object"})
# Decorators that neither call nor register what they decorate.
_PLAIN = frozenset({"inference_mode", "no_grad"})
# How many calls lead from the branch to the code.
_DEEPEST = 2
# Code that finds what it calls, or makes, by a name that the text does not show.
_FINDS = (
    rb"\bimport_module\b|\b__import__\b|\bsys\.modules\b|(?<![\w.])(?:eval|exec|globals)\(|\b_target_\b|\binstantiate\b"
)
_FINDS_HEIRS = rb"\b__(?:init_subclass|subclasses)__\b|\bmetaclass\b"
_READS_ANY = re.compile(rb"\bgetattr\(\s*(\w+)(?:\.\w+)*\s*,(?!\s*[\"']\w*[\"'])|\b(?:methodcaller|getmembers)\(")
# Code that can set attributes that do not appear in the text.
_SETS_ANY = rb"\bsetattr\(\s*self\b|\bself\.__dict__\b|\bvars\(\s*self\b"
# Code in a class that makes another object of it.
_MAKES_ANOTHER = frozenset({"__class__", "cls", "type"})


class _DefinedAt(NamedTuple):
    """A function at the top level of a file, or a method of a class there."""

    module: Module
    cls: cst.ClassDef | None
    function: cst.FunctionDef

    @property
    def called(self) -> str:
        """The name by which it is called."""
        function = self.function.name.value
        return self.cls.name.value if self.cls is not None and function == _CONSTRUCTOR else function

    @property
    def is_method(self) -> bool:
        return self.cls is not None and self.function.name.value != _CONSTRUCTOR


class _CallInSight(NamedTuple):
    module: Module
    node: cst.Call


def is_behind_default(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is only reached if a parameter has another value than the one that it always has."""
    return _is_never_reached(project, module, node, _DEEPEST) and lints_program(project)


def _is_never_reached(project: Project, module: Module, node: cst.CSTNode, depth: int) -> bool:
    match definitions_around(module.tree, node):
        case [cst.FunctionDef() as function, *_]:
            place = _DefinedAt(module, None, function)
        case [cst.ClassDef() as cls, cst.FunctionDef() as function, *_]:
            place = _DefinedAt(module, cls, function)
        case _:
            return False
    if any(_never_is(project, place, *each) for each in _conditions(function, node)):
        return True
    if not depth or place.cls is not None or function.decorators or may_be_installed(project, module):
        return False
    calls = _calls(project, function.name.value, False, 1)
    return bool(calls) and all(_is_never_reached(project, *call, depth - 1) for call in calls or ())


def _conditions(function: cst.FunctionDef, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The tests in a function that decide whether a node is reached, each with the outcome for which it is."""
    yield from tests_around(function, node)
    yield from ((each.test, False) for each in exits_before(function, node))


def _never_is(project: Project, place: _DefinedAt, test: cst.BaseExpression, wanted: bool) -> bool:
    """Whether a test never has an outcome, as what it asks for always has its default."""
    defaults = {**_defaults(place), **(_attribute_defaults(place, test) if place.cls is not None else {})}
    if outcome(test, {name: value for name, (_, _, value) in defaults.items()}) is not (not wanted):
        return False
    asked = {each.value for each in of_class(test, cst.Name)}
    known = {
        name: value
        for name, (owner, parameter, value) in defaults.items()
        if name.rpartition(".")[2] in asked
        and _always_has_default(project, owner, parameter)
        and (name == parameter or _is_set_once(project, place.module, name.rpartition(".")[2]))
    }
    return outcome(test, known) is (not wanted)


def _defaults(place: _DefinedAt) -> dict[str, tuple[_DefinedAt, str, object]]:
    """The parameters that have a literal as their default."""
    given = place.function.params
    values = {each.name.value: literal(place.module, each.default) for each in _parameters(given)}
    return {name: (place, name, value) for name, value in values.items() if value is not UNKNOWN}


def _parameters(given: cst.Parameters) -> list[cst.Param]:
    return [*given.posonly_params, *given.params, *given.kwonly_params]


def _attribute_defaults(place: _DefinedAt, test: cst.BaseExpression) -> dict[str, tuple[_DefinedAt, str, object]]:
    """The same for the attributes of `self` in a test to which the constructor assigns its parameters, always."""
    asked = {name for each in of_class(test, cst.Attribute) if (name := attribute_of_self(each))}
    constructor = _constructor(place.cls) if asked and place.cls is not None else None
    if constructor is None:
        return {}
    maker = _DefinedAt(place.module, place.cls, constructor)
    defaults = _defaults(maker)
    return {
        f"self.{name}": defaults[value.value]
        for line in constructor.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for name, value in _assigned_attributes(line)
        if name in asked and isinstance(value, cst.Name) and value.value in defaults
    }


def _constructor(cls: cst.ClassDef) -> cst.FunctionDef | None:
    found = [each for each in cls.body.body if isinstance(each, cst.FunctionDef) and each.name.value == _CONSTRUCTOR]
    return found[0] if len(found) == 1 else None


def _assigned_attributes(line: cst.SimpleStatementLine) -> Iterator[tuple[str, cst.BaseExpression | None]]:
    for each in line.body:
        match each:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                yield attribute_of_self(target), value
            case cst.AnnAssign(target=target, value=value):
                yield attribute_of_self(target), value


def _code_with(project: Project, name: str) -> Iterator[tuple[Path, bytes]]:
    """The code of the files that contain a name, of those that are linted or imported by them."""
    return ((path, project.code(path)) for path in linted_and_imported(project) if project.mentions(path, name))


@noted_of_linted
def _is_set_once(project: Project, module: Module, name: str) -> bool:
    """Whether only one assignment in the linted files sets an attribute of this name."""
    if module.mentions(_SETS_ANY):
        return False
    spelled = re.escape(name).encode()
    sets = re.compile(rb"\.%b\s*(?::[^=\n,()]+)?(?:[-+*/|&^%%@]|//|<<|>>|\*\*)?=(?!=)" % spelled)
    other = re.compile(
        rb"[\"']%b[\"']|\.%b\s*,[^()\n]*(?<![=!<>])=(?!=)|^[ \t]+%b[ \t]*(?::[^=\n,()]+)?=(?!=)[^,\n]*$"
        % ((spelled,) * 3),
        re.M,
    )
    codes = [code for _, code in _code_with(project, name)]
    return sum(len(sets.findall(code)) for code in codes) == 1 and not any(other.search(code) for code in codes)


@noted_of_linted
def _always_has_default(project: Project, place: _DefinedAt, parameter: str) -> bool:
    """Whether calls of a function are in sight, and neither one of them nor its own code gives a parameter a value."""
    function = place.function
    bound = {each.value for each in bound_targets(function.body) if isinstance(each, cst.Name)}
    same = [each for each in of_class(function, cst.Param) if each.name.value == parameter]
    if len(same) > 1 or parameter in bound or not _is_called_by_project(project, place):
        return False
    calls = _calls(project, place.called, place.is_method, 1)
    if not calls or not any(_is_for(each, place) for each in calls) or _may_be_found_by_name(project, place):
        return False
    names = positional_parameters(function.params)[place.cls is not None :]
    at = names.index(parameter) if parameter in names else None
    default = literal(place.module, same[0].default)
    return not any(_gives_another(each, at, parameter, default) for each in calls)


def _is_called_by_project(project: Project, place: _DefinedAt) -> bool:
    """Whether nobody but code of the project calls a function, as far as it is no argument of another one."""
    if any(last_name(_undecorated(each)) not in _PLAIN for each in place.function.decorators):
        return False
    if may_be_installed(project, place.module):
        return False
    if place.cls is None:
        return True
    if place.is_method:
        return not place.called.startswith("__") and _is_own(place.module, place.cls)
    names = {each.value for each in of_class(place.cls, cst.Name)}
    return not (place.cls.decorators or place.cls.keywords) and names.isdisjoint(_MAKES_ANOTHER)


def _undecorated(decorator: cst.Decorator) -> cst.BaseExpression:
    return decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator


def _is_own(module: Module, cls: cst.ClassDef) -> bool:
    """Whether all bases of a class are of the project."""
    found = next((each for each in module.classes if each.node is cls), None)
    return found is not None and all(isinstance(each, ClassInfo) or each in _OUTSIDE for each in found.lineage())


def _is_for(call: _CallInSight, place: _DefinedAt) -> bool:
    """Whether a call may be one of a function of another file, and not of one of the same name in its own."""
    if call.module is place.module:
        return True
    tree = call.module.tree
    defined: list[cst.FunctionDef | cst.ClassDef] = [*of_class(tree, cst.FunctionDef), *of_class(tree, cst.ClassDef)]
    return all(each.name.value != place.called for each in defined)


def _may_be_found_by_name(project: Project, place: _DefinedAt) -> bool:
    """Whether code that uses the function, or its class, may find it by a name that the text does not show.

    Settings name classes more often than functions: any code that makes what they name may make one.
    """
    names = {place.called, place.cls.name.value if place.cls is not None else place.called}
    users = {path: code for name in names for path, code in _code_with(project, name)}
    for path, code in users.items():
        module = project.module(path)
        read = {match[1].decode() if match[1] else "" for match in _READS_ANY.finditer(code)}
        if module is None or re.search(_FINDS, code):
            return True
        if any(place.is_method or not name or is_imported(module, name) for name in read):
            return True
    codes = [project.code(path) for path in linted_and_imported(project)] if place.cls is not None else ()
    return any(re.search(each, code) for code in codes for each in (_FINDS, _FINDS_HEIRS))


def _gives_another(call: _CallInSight, at: int | None, parameter: str, default: object) -> bool:
    """Whether a call may pass something else than the default for a parameter."""
    if any(each.star for each in call.node.args):
        return True
    passed = argument_at(call.node, at, parameter)
    value = default if passed is None else literal(call.module, passed)
    return value is UNKNOWN or type(value) is not type(default) or value != default


@noted_of_linted
def _calls(project: Project, name: str, is_method: bool, depth: int) -> tuple[_CallInSight, ...] | None:
    """All calls of what has a name; None if something else is done with it, which may call it with any arguments."""
    in_text = re.compile(rb"[\"']%b[\"']" % re.escape(name).encode())
    found: list[_CallInSight] = []
    for path, code in _code_with(project, name):
        module = project.module(path)
        if module is None or in_text.search(code):
            return None
        for use in (each for each in of_class(module.tree, cst.Name) if each.value == name):
            calls = _calls_at(project, module, use, is_method, depth)
            if calls is None:
                return None
            found += calls
    return tuple(found)


def _calls_at(
    project: Project, module: Module, use: cst.Name, is_method: bool, depth: int
) -> list[_CallInSight] | None:
    """The calls of what a name stands for at one place; none where it is defined, or is the name of another thing."""
    around = ancestors(module.tree, use)
    outer = around[-1]
    named: cst.CSTNode = use
    if isinstance(outer, cst.Attribute) and outer.attr is use:
        if not is_method and not is_imported(module, holder_name(outer)):
            return []
        named, around = outer, around[:-1]
    match around[-1]:
        case cst.Call(func=func) as call if func is named:
            return [_CallInSight(module, call)]
        case cst.FunctionDef(name=name) | cst.ClassDef(name=name) | cst.Param(name=name) if name is named:
            return []
        case cst.Arg(keyword=name) if name is named:
            return []
        case cst.Return() if depth:
            return _calls_of_result(project, module, use, depth)
    return [] if _is_other_use(around) else None


def _is_other_use(around: tuple[cst.CSTNode, ...]) -> bool:
    """Whether something is imported under its own name, is an annotation, or what an object is compared with."""
    for each in around:
        match each:
            case cst.ImportAlias(asname=renamed):
                return renamed is None
            case cst.ImportFrom(module=module) if module in around:
                return True
            case cst.Annotation():
                return True
    match around[-2:]:
        case [cst.Call(func=cst.Name("isinstance")), cst.Arg()]:
            return True
    return False


def _calls_of_result(project: Project, module: Module, use: cst.Name, depth: int) -> list[_CallInSight] | None:
    """The calls of what a function of the file returns here, if each call of this function is itself called."""
    match definitions_around(module.tree, use):
        case [cst.FunctionDef() as function] if not function.decorators:
            given = _calls(project, function.name.value, False, depth - 1)
        case _:
            given = None
    found: list[_CallInSight] = []
    for each in given or ():
        outer = ancestors(each.module.tree, each.node)[-1]
        if not isinstance(outer, cst.Call) or outer.func is not each.node:
            return None
        found.append(_CallInSight(each.module, outer))
    return found if given else None
