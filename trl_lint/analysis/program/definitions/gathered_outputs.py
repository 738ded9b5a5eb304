"""Parts of model outputs that a forward of the project computes from what all ranks have gathered.

For example, where `contrast` is a function of the project that calls `all_gather`, also in a function that it calls:

    def forward(self, batch):
        pull = None
        if self.pulls: pull = contrast(first, second)
        return Output(loss=loss, pull=pull, push=contrast(first, third))       gathered: pull, push
        return {"loss": loss + contrast(first, second)}                        none: a part of it is this rank's own

A part counts if all forwards of the project that return one of this name gather it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.reduced_forwards import APPLY
from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.syntax import assignments, is_literal_none, last_name, of_class
from trl_lint.knowledge.schema import Collective
from trl_lint.knowledge.torch_distributed import ROWS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module, Project

# `x.gather(dim, index)` picks elements of a tensor.
_GATHERS = frozenset(
    row.name.rpartition(".")[2] for row in ROWS if isinstance(row, Collective) and row.result == "gathered"
) - {"gather"}
_FORWARD = "forward"
# How many calls are followed from one function into the next.
_MOST_CALLEES = 2


@noted_of_linted
def is_gathered(project: Project, part: str) -> bool:
    """Whether each forward of the project that returns a part of this name computes it from what all ranks gather."""
    values = [value for value in _values_of(project, part) if not is_literal_none(value)]
    return bool(values) and all(
        isinstance(value, cst.Call) and _gathers(project, value, _MOST_CALLEES) for value in values
    )


def _values_of(project: Project, part: str) -> Iterator[cst.BaseExpression]:
    """The expressions that forwards give a part of their outputs: where that is a variable, all its values."""
    given = re.compile(rb"\b%b\s*=(?!=)|[\"']%b[\"']\s*:" % ((re.escape(part).encode(),) * 2))
    for module in _modules_with(project, part, re.compile(rb"def forward\b"), given):
        for function in of_class(module.tree, cst.FunctionDef):
            if function.name.value == _FORWARD:
                yield from _given(function, part)


def _modules_with(project: Project, name: str, *wanted: re.Pattern[bytes]) -> Iterator[Module]:
    """The linted files, and those that they import, whose code has a name and matches."""
    for path in linted_and_imported(project):
        if project.mentions(path, name) and all(each.search(project.code(path)) for each in wanted):
            module = project.module(path)
            yield from () if module is None else (module,)


def _given(forward: cst.FunctionDef, part: str) -> Iterator[cst.BaseExpression]:
    for each in (part_ for leaving in of_class(forward, cst.Return) for part_ in _parts(leaving.value, part)):
        assigned = [
            value
            for target, value in assignments(forward)
            if isinstance(each, cst.Name) and isinstance(target, cst.Name) and target.value == each.value
        ]
        yield from assigned or [each]


def _parts(returned: cst.BaseExpression | None, part: str) -> Iterator[cst.BaseExpression]:
    match returned:
        case cst.Call(args=args):
            yield from (arg.value for arg in args if arg.keyword is not None and arg.keyword.value == part)
        case cst.Dict(elements=elements):
            for each in elements:
                if isinstance(each, cst.DictElement) and isinstance(each.key, cst.SimpleString):
                    yield from [each.value] if each.key.evaluated_value == part else []


def _gathers(project: Project, call: cst.Call, steps: int) -> bool:
    """Whether a call gathers, or calls a function of the project that does."""
    name = last_name(call.func)
    if name in _GATHERS:
        return True
    if name == APPLY and isinstance(call.func, cst.Attribute):
        name = last_name(call.func.value)
    return steps > 0 and _does_gather(project, name, steps - 1)


@noted_of_linted
def _does_gather(project: Project, name: str, steps: int) -> bool:
    """Whether a function or class of the project that has this name gathers."""
    defined = re.compile(rb"\b(?:def|class) %b\b" % re.escape(name).encode())
    for module in _modules_with(project, name, defined):
        functions, classes = of_class(module.tree, cst.FunctionDef), of_class(module.tree, cst.ClassDef)
        bodies = [each.body for each in functions if each.name.value == name]
        bodies += [each.body for each in classes if each.name.value == name]
        if any(_gathers(project, call, steps) for body in bodies for call in of_class(body, cst.Call)):
            return True
    return False
