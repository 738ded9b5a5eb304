"""Dicts that forwards of the project return, alone or in a tuple, and which entries are computed from parameters.

For example, where `self.scale` is an `nn.Parameter` and `self.rate` an argument of the constructor:

    rate = self.get_rate() if self.learns else self.rate
    extra = {"angles": self.turn(x), "rate": rate.item(), "scale": self.scale.item()}
    return out, extra                              the second of 2 parts is a dict; "rate" and "scale" are learned
    return extra                                   as are they here

    extra["scale"] = x.norm()                      "scale" is not: it is assigned again, here or in another forward
    {"scale": self.scale * x}                      nor here, as the input is part of it
    {"last": self.last.norm()}                     nor "last", which is no `nn.Parameter`
    {"mean": self.mean}                            nor "mean", after `self.mean.mul_(x.mean())` in a method

An entry counts if all forwards of the project agree that return a dict at this place of as many parts, or alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.syntax import (
    assignments,
    attribute_values,
    last_name,
    of_class,
    self_attribute,
    used_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trl_lint.analysis.program.project.project import Project

_FORWARD = "forward"
_PARAMETER = "Parameter"
# What a file with such a forward has, and few others: only these are parsed.
_DEFINES = re.compile(rb"\bdef forward\b")
_TUPLE = re.compile(rb"\breturn\b[^\n]*,")
_ENTRY_OF_SELF = re.compile(rb"[\"']\s*:[^,\n]*\bself\.\w")
# What an expression of parameters and settings alone may name besides `self`: libraries, by their usual names too, and
# functions that change no value. None draws a random number, as long as `_DRAWS` does not match.
_LIBRARIES = frozenset({"F", "math", "nn", "np", "numpy", "torch"})
_FUNCTIONS = frozenset({"abs", "bool", "float", "hasattr", "int", "isinstance", "max", "min", "round", "self"})
_ALLOWED = _LIBRARIES | _FUNCTIONS
_DRAWS = re.compile(r"rand|normal|bernoulli|multinomial|dropout|uniform|empty")
# How many calls and names are followed, one from another.
_MOST_STEPS = 4

# By the key of each entry of a dict: whether it is learned.
Entries = dict[str, bool]
NO_ENTRIES: Entries = {}


@noted_of_linted
def entries_of_part(project: Project, index: int, count: int) -> Entries:
    """The entries of the dict that forwards return as this one of so many parts; none if no entry is learned."""
    found = _agreed(_with_parameters(project, _TUPLE, _ENTRY_OF_SELF), index, count)
    learned = [key for key, is_learned in found.items() if is_learned]
    if not learned:
        return NO_ENTRIES
    # Other forwards may compute an entry of this name from their input.
    others = _agreed(_models(project, _TUPLE, _naming(learned)), index, count)
    return {key: is_learned and others.get(key, True) for key, is_learned in found.items()}


@noted_of_linted
def is_learned_entry(project: Project, key: str) -> bool:
    """Whether all forwards that return a dict with this key, and no tuple, compute the entry from parameters."""
    named = _naming([key])
    is_learned = _agreed(_with_parameters(project, named)).get(key, False)
    return is_learned and _agreed(_models(project, named)).get(key, True)


def _agreed(models: Iterator[cst.ClassDef], index: int = 0, count: int = 0) -> Entries:
    """The entries that such forwards return, and whether those of this name are learned in all of them."""
    found: Entries = {}
    for cls in models:
        for entries in _OfParameters(cls).returned(index, count):
            found.update({key: is_learned and found.get(key, True) for key, is_learned in entries.items()})
    return found


def _naming(keys: list[str]) -> re.Pattern[bytes]:
    """What code has that makes, or assigns, an entry of a dict with one of these names."""
    return re.compile(rb"[\"'](?:%b)[\"']\s*(?::|\]\s*=[^=])" % b"|".join(re.escape(key).encode() for key in keys))


def _with_parameters(project: Project, *wanted: re.Pattern[bytes]) -> Iterator[cst.ClassDef]:
    return _models(project, *wanted, mentioned=_PARAMETER)


def _models(project: Project, *wanted: re.Pattern[bytes], mentioned: str = "") -> Iterator[cst.ClassDef]:
    """The classes with a forward, in files that match. mentioned: a word that these have, too."""
    for path in linted_and_imported(project):
        if mentioned and not project.mentions(path, mentioned):
            continue
        module = project.module(path) if all(each.search(project.code(path)) for each in (_DEFINES, *wanted)) else None
        classes = () if module is None else of_class(module.tree, cst.ClassDef)
        yield from (each for each in classes if _FORWARD in _methods(each))


def _methods(cls: cst.ClassDef) -> dict[str, cst.FunctionDef]:
    return {each.name.value: each for each in cls.body.body if isinstance(each, cst.FunctionDef)}


class _OfParameters:
    """The expressions in the methods of a class that are computed from its parameters and settings alone."""

    def __init__(self, cls: cst.ClassDef) -> None:
        self.methods = _methods(cls)
        self.attributes = _fixed_attributes(cls, self.methods.get("__init__"))

    def returned(self, index: int = 0, count: int = 0) -> Iterator[Entries]:
        """By key, for each dict that the forward returns as this one of so many parts, or alone if there are none."""
        forward = self.methods[_FORWARD]
        for value in (each.value for each in of_class(forward.body, cst.Return)):
            if count and isinstance(value, cst.Tuple) and len(value.elements) == count:
                yield from self._entries(forward, value.elements[index].value)
            elif value is not None and not count:
                yield from self._entries(forward, value)

    def _entries(self, forward: cst.FunctionDef, part: cst.BaseExpression) -> Iterator[Entries]:
        """By key, whether an entry of a dict that a forward returns is learned: none is if the dict is changed."""
        values = _assigned_once(forward)
        name = part.value if isinstance(part, cst.Name) else ""
        display = values.get(name) if name else part
        given = display.elements if isinstance(display, cst.Dict) else ()
        is_known = all(isinstance(each, cst.DictElement) for each in given) and not (
            name and _is_changed(forward, name)
        )
        found: Entries = dict.fromkeys(_keys_assigned(forward, name), False) if name else {}
        for each in given:
            if isinstance(each, cst.DictElement) and isinstance(each.key, cst.SimpleString):
                key = each.key.evaluated_value
                if isinstance(key, str):
                    found[key] = is_known and self._is_learned(each.value, values, _MOST_STEPS)
        yield found

    def _is_learned(self, node: cst.BaseExpression, values: Mapping[str, cst.BaseExpression], steps: int) -> bool:
        """Whether an expression is one of parameters and settings, of which it has at least one."""
        if not steps:
            return False
        names = used_names(node) - _ALLOWED
        read = {self_attribute(each) for each in of_class(node, cst.Attribute)} - {""}
        called = {self_attribute(each.func) for each in of_class(node, cst.Call) if not each.args} - {""}
        if not (names or read) or _makes_other_values(node):
            return False
        return (
            all(name in values and self._is_learned(values[name], values, steps - 1) for name in names)
            and all(self._returns_learned(each, steps - 1) for each in called & self.methods.keys())
            and read - (called & self.methods.keys()) <= self.attributes
        )

    def _returns_learned(self, name: str, steps: int) -> bool:
        method = self.methods[name]
        values = _assigned_once(method)
        parts = [each.test for each in of_class(method.body, cst.If)]
        parts += [each.value for each in of_class(method.body, cst.Return) if each.value is not None]
        returns = len(of_class(method.body, cst.Return))
        return bool(returns) and all(self._is_learned(each, values, steps) for each in parts)


def _fixed_attributes(cls: cst.ClassDef, constructor: cst.FunctionDef | None) -> frozenset[str]:
    """The attributes of `self` that are parameters, or that only the constructor sets, to an argument or a number."""
    given = frozenset[str]() if constructor is None else _arguments(constructor)
    made = () if constructor is None else tuple(attribute_values(constructor))
    found: dict[str, bool] = {}
    for name, value in attribute_values(cls):
        is_parameter = isinstance(value, cst.Call) and last_name(value.func) == _PARAMETER
        is_set = any(value is each for _, each in made) and _is_setting(value, given)
        found[name] = (is_parameter or is_set) and found.get(name, True)
    changed = set(_changed_attributes(cls, constructor))
    return frozenset(name for name, is_fixed in found.items() if is_fixed and name not in changed)


def _changed_attributes(cls: cst.ClassDef, constructor: cst.FunctionDef | None) -> Iterator[str]:
    """The attributes of `self` of which methods change a part, or the numbers: `self.mean.data.mul_(0.9)`."""
    first = set(map(id, () if constructor is None else of_class(constructor, cst.Call)))
    changed: list[cst.BaseExpression] = [each.target for each in of_class(cls, cst.AugAssign)]
    changed += [target for target, _ in assignments(cls) if not self_attribute(target)]
    changed += [
        each.func
        for each in of_class(cls, cst.Call)
        if last_name(each.func).endswith("_") and id(each) not in first  # it may draw them first
    ]
    for each in changed:
        yield from (self_attribute(part) for part in of_class(_left_of_index(each), cst.Attribute))


def _left_of_index(target: cst.BaseExpression) -> cst.BaseExpression:
    """What a target changes, without the place in it: `self.mean` for `self.mean[self.last]`."""
    return target.value if isinstance(target, cst.Subscript) else target


def _is_setting(value: cst.BaseExpression, given: frozenset[str]) -> bool:
    if isinstance(value, cst.Name):
        return value.value in given | {"False", "True"}
    return isinstance(value, (cst.Float, cst.Integer))


def _arguments(function: cst.FunctionDef) -> frozenset[str]:
    params = function.params
    return frozenset(each.name.value for each in (*params.params, *params.kwonly_params))


def _assigned_once(function: cst.FunctionDef) -> dict[str, cst.BaseExpression]:
    """The values of the names that a function binds in one assignment, and in no other way."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for target, value in assignments(function.body):
        if isinstance(target, cst.Name):
            found.setdefault(target.value, []).append(value)
    others: list[cst.CSTNode] = [each.target for each in of_class(function, cst.AugAssign)]
    others += [each.target for each in of_class(function, cst.For)]
    others += [target for target, _ in assignments(function.body) if isinstance(target, (cst.List, cst.Tuple))]
    bound = _arguments(function).union(*map(used_names, others))
    return {name: values[0] for name, values in found.items() if len(values) == 1 and name not in bound}


def _keys_assigned(function: cst.FunctionDef, name: str) -> Iterator[str]:
    """The names of the entries that a function assigns to a dict of this name."""
    for target, _ in assignments(function.body):
        match target:
            case cst.Subscript(value=cst.Name(owner), slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
                if owner == name and isinstance(key, cst.SimpleString) and isinstance(key.evaluated_value, str):
                    yield key.evaluated_value


def _is_changed(function: cst.FunctionDef, name: str) -> bool:
    """Whether a function changes a dict of this name: an entry of it is assigned, or it is updated."""
    targets = (target.value for target, _ in assignments(function.body) if isinstance(target, cst.Subscript))
    callees = (each.func for each in of_class(function.body, cst.Call) if isinstance(each.func, cst.Attribute))
    owners = (*targets, *(each.value for each in callees))
    return any(isinstance(each, cst.Name) and each.value == name for each in owners)


def _makes_other_values(node: cst.BaseExpression) -> bool:
    """Whether an expression is a display, which may be filled later, or draws numbers, or changes a tensor in place."""
    if any(of_class(node, kind) for kind in (cst.Dict, cst.List, cst.Set)):
        return True
    names = [last_name(each.func) for each in of_class(node, cst.Call)]
    return any(_DRAWS.search(each) or (each.endswith("_") and not each.startswith("_")) for each in names)
