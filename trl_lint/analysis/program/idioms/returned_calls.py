"""The calls whose results a function returns, on some way, as far as its own names show.

For example:

    schedule = LinearLR(optimizer)
    if kind == "cosine":
        schedule = CosineLR(optimizer)
    return schedule                         both calls

    return Wrapped(LinearLR(optimizer))     that of Wrapped
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, definitions_around, of_class


def returned_calls(function: cst.FunctionDef) -> Iterator[cst.Call]:
    for each in of_class(function.body, cst.Return):
        if not definitions_around(function.body, each):
            yield from _calls_of(function, each.value)


def _calls_of(function: cst.FunctionDef, returned: cst.BaseExpression | None) -> Iterator[cst.Call]:
    if isinstance(returned, cst.Call):
        yield returned
    elif isinstance(returned, cst.Name):
        for target, value in assignments(function.body):
            if isinstance(target, cst.Name) and target.value == returned.value and isinstance(value, cst.Call):
                yield value
