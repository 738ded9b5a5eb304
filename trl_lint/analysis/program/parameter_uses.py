"""What a parameter is by what a function does with it, where nobody in sight says so.

accelerator.gather_for_metrics(x)       an Accelerator: nothing else has it
model.train(); model(**batch)           a model, wrapped or not
"""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from trl_lint.analysis.program.classes import FunctionInfo
from trl_lint.analysis.program.syntax import below
from trl_lint.domain import ranks
from trl_lint.domain.kinds import LibraryInstance, ModelValue
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge.accelerate import ONLY_ACCELERATORS_HAVE
from trl_lint.knowledge.models import SWITCH_MODES


def by_use(function: FunctionInfo) -> dict[str, Value]:
    """The parameters of which the body of a function shows what they are."""
    names = {parameter.name for parameter in function.parameters}
    read: dict[str, set[str]] = defaultdict(set)
    called: set[str] = set()
    for node in below(function.node):
        match node:
            case cst.Attribute(value=cst.Name(name), attr=cst.Name(own)) if name in names:
                read[name].add(own)
            case cst.Call(func=cst.Name(name)) if name in names:
                called.add(name)
    found: dict[str, Value] = {}
    for name, attributes in read.items():
        if attributes & ONLY_ACCELERATORS_HAVE:
            found[name] = LibraryInstance("accelerate.Accelerator")
        elif name in called and attributes & SWITCH_MODES:
            found[name] = ModelValue(ranks.SAME, wrapping=Wrapping.UNKNOWN)
    return found
