"""Settings that decide whether a sampler gives each rank its share of the rows: where they are off, each has all rows.

For example:

    if args.dist_eval: sampler = DistributedSampler(rows)            `dist_eval`
    else: sampler = SequentialSampler(rows)
    sampler = DistributedSampler(rows) if spread else None           `spread`
    if args.split == "train": sampler = DistributedSampler(rows)     none: it compares
    evaluate(loader, args.dist_eval)                                 the parameter of `evaluate` that gets it, as well
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.syntax import inwards, last_name, of_class
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module, Project

_SAMPLER = DISTRIBUTED_SAMPLER.rpartition(".")[2]


def decides_sampler(project: Project, function: FunctionInfo | None, test: cst.BaseExpression) -> bool:
    """Whether a test is of such a setting, or of a parameter that some call of the function gives one."""
    name = last_name(test)
    settings = _settings(project) if name else frozenset()
    if not settings:
        return False
    is_passed = isinstance(test, cst.Name) and function is not None and _place_of(function, name) is not None
    if not is_passed or function is None:
        return name in settings
    given = project.of_linted(
        (decides_sampler, function.name, name), partial(_given, project, function, name, settings)
    )
    return not settings.isdisjoint(given)


@noted_of_linted
def _settings(project: Project) -> frozenset[str]:
    made = re.compile(rb"\b%b\(" % _SAMPLER.encode())
    return frozenset(
        name
        for module in _modules_with(project, _SAMPLER, (made,))
        for call in of_class(module.tree, cst.Call)
        if last_name(call.func) == _SAMPLER
        for name in _deciding(module, call)
    )


def _modules_with(project: Project, name: str, wanted: Sequence[re.Pattern[bytes]]) -> Iterator[Module]:
    """The linted files, and those that they import, whose code has a name and matches all of these."""
    for path in linted_and_imported(project):
        if project.mentions(path, name) and all(each.search(project.code(path)) for each in wanted):
            module = project.module(path)
            yield from () if module is None else (module,)


def _deciding(module: Module, sampler: cst.Call) -> Iterator[str]:
    """The setting that the innermost branch around the making of a sampler asks for, where it must be true."""
    around = [
        (outer, inner)
        for outer, inner in inwards(module.tree, sampler)
        if isinstance(outer, (cst.If, cst.IfExp)) and inner is not outer.test
    ]
    for branch, inner in around[-1:]:
        if inner is branch.body and last_name(branch.test):
            yield last_name(branch.test)


def _given(project: Project, function: FunctionInfo, parameter: str, settings: frozenset[str]) -> frozenset[str]:
    """The names of the variables and fields that the calls of a function give one of its parameters.

    Only files that name one of the settings are parsed for it: in a collection of recipes, each has a `train`.
    """
    called = re.compile(rb"\b%b\(" % re.escape(function.name).encode())
    named = re.compile("|".join(map(re.escape, sorted(settings))).encode())
    calls = (
        call
        for module in _modules_with(project, function.name, (called, named))
        for call in of_class(module.tree, cst.Call)
        if last_name(call.func) == function.name
    )
    return frozenset(name for call in calls if (name := _argument(function, call, parameter)))


def _argument(function: FunctionInfo, call: cst.Call, parameter: str) -> str:
    place = _place_of(function, parameter)
    for index, arg in enumerate(call.args):
        if arg.keyword is None and arg.star:
            return ""
        if arg.keyword.value == parameter if arg.keyword is not None else index == place:
            return last_name(arg.value)
    return ""


def _place_of(function: FunctionInfo, parameter: str) -> int | None:
    """The place of an argument for a parameter, in calls of a function or of a method of an object."""
    is_method = function.cls is not None and not function.is_static
    names = [each.name for each in function.parameters][is_method:]
    return names.index(parameter) if parameter in names else None
