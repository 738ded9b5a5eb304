"""The classes that a name may mean of which the program knows no more than how it begins or ends.

    import models                           # models.py defines Small and Large, and imports Base
    getattr(models, args.kind)              Small or Large
    getattr(models, args.kind + "Model")    neither

A package defines no classes, but imports them from its files. Nothing is known if they are too many, or if there are
more functions that the name may mean than classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue
from trl_lint.domain.choices import MAX_OPTIONS, NamedIn
from trl_lint.domain.heap import names_like
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import ProjectName
from trl_lint.domain.values import UNKNOWN, Value

if TYPE_CHECKING:
    from trl_lint.analysis.interprocedural.modules import Names
    from trl_lint.analysis.program.project.project import Module

# The most files with star imports that are read for the classes that they define.
_MAX_STARS = 8


def named_in(names: Names, value: NamedIn) -> Value:
    """The choice between the classes that a name may mean; UNKNOWN if they are not known, or too many."""
    wanted = names_like(value.pattern)
    found: dict[int, ClassValue] = {}
    for path in value.paths:
        for each in _classes_of(names, path, wanted):
            found[id(each.cls)] = each
        if len(found) > MAX_OPTIONS:
            return UNKNOWN
    return join_all(found.values()) if found else UNKNOWN


def _classes_of(names: Names, path: Path, wanted: re.Pattern[str]) -> list[ClassValue]:
    module = names.project.module(path) if names.project.may_open(path) else None
    if module is None:
        return []
    bound = _bound(names, module, wanted)
    functions = [each for each in bound if isinstance(each, FunctionValue)]
    own = [each for each in bound if isinstance(each, ClassValue) and each.cls.module is module]
    found = own or list(_imported_classes(names, module, bound, wanted))
    return found if len(found) >= len(functions) else []


def _bound(names: Names, module: Module, wanted: re.Pattern[str]) -> list[Value]:
    """What a module binds to the public names that fit."""
    names.load(module)
    everything = names.global_names(module).items()
    return [each for name, each in everything if not name.startswith("_") and wanted.fullmatch(name)]


def _imported_classes(
    names: Names, module: Module, bound: list[Value], wanted: re.Pattern[str]
) -> Iterator[ClassValue]:
    imported = [each for each in bound if isinstance(each, ProjectName) and each.name and each.name[:1].isupper()]
    for each in imported if len(imported) <= MAX_OPTIONS else ():
        found = names.settle(each)
        if isinstance(found, ClassValue):
            yield found
    for path in module.stars[:_MAX_STARS]:
        other = names.project.module(path) if names.project.may_open(path) else None
        for value in () if other is None else _bound(names, other, wanted):
            if isinstance(value, ClassValue) and value.cls.module is other:
                yield value
