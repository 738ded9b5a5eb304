"""Models of `self` that one way out of the method that wraps them leaves bare, read where the same settings hold.

For example:

    def __init__(self, model, cfg):
        self.cfg = cfg
        if cfg.evaluate and cfg.path.endswith(".out"):
            self.model = model              bare
            return
        self.model = DDP(model)             wrapped
    def run(self):
        if self.cfg.path.endswith(".out"):
            self.compare()                  the only call
        else:
            self.model.build()              wrapped
    def compare(self):
        self.model.build()                  bare, if `evaluate` holds as well
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before, last_statement
from trl_lint.analysis.program.idioms.path_conditions import Condition, alternatives, ifs_around, outcomes_of_parts
from trl_lint.analysis.program.syntax import (
    ancestors,
    assignments,
    attribute_values,
    names_in,
    of_class,
    precedes,
    self_attribute,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Project

# Tests and their outcomes, by their text without `self.`.
_Outcomes: TypeAlias = Mapping[str, bool]

_OF_SELF = re.compile(r"\bself\.")
_code_of = cst.Module([]).code_for_node


def may_be_bare_at(
    project: Project, cls: ClassInfo, reader: FunctionInfo, node: cst.Attribute, wrapped: Iterable[cst.CSTNode]
) -> bool:
    """Whether a method reads something from a model of `self` only under settings with which it may have no wrapper.

    wrapped: the places that wrap the model.
    """
    name = self_attribute(node.value)
    methods = cls.project_methods()
    ways = [
        way
        for place in wrapped
        for method in methods
        if name and method is not reader and ancestors(method.node, place)
        for way in _ways_left_bare(method.node, place, name)
    ]
    if not ways:
        return False
    return _is_under(reader.node, node, ways) or _is_called_under(project, methods, reader, ways, {reader.name})


def _ways_left_bare(method: cst.CSTNode, place: cst.CSTNode, name: str) -> Iterator[_Outcomes]:
    """The outcomes with which a method leaves a bare `self.name` and returns, before it wraps the model at a place."""
    for branch in exits_before(method, place):
        values = [value for attribute, value in attribute_values(branch.body) if attribute == name]
        if not values or not isinstance(last_statement(branch.body), cst.Return):
            continue
        if isinstance(values[-1], cst.Name) and not _is_wrapped_before(method, branch, values[-1].value):
            for part in alternatives(branch.test):
                yield _texts(outcomes_of_parts(Condition(part, True)))


def _is_wrapped_before(method: cst.CSTNode, branch: cst.If, name: str) -> bool:
    """Whether a local name is bound to what a call returns that gets it, before a branch: `model = DDP(model)`."""
    return any(
        name in names_in(arg)
        for target, value in assignments(method)
        if not isinstance(target, cst.Attribute) and name in names_in(target) and precedes(method, value, branch)
        for call in of_class(value, cst.Call)
        for arg in call.args
    )


def _texts(outcomes: Iterable[Condition]) -> _Outcomes:
    return {_OF_SELF.sub("", _code_of(each.test)): each.holds for each in outcomes}


def _is_called_under(
    project: Project, methods: list[FunctionInfo], called: FunctionInfo, ways: list[_Outcomes], known: set[str]
) -> bool:
    """Whether all calls of a method are under settings that lead to one of these ways, or in methods like that."""
    if called.node not in (each.node for each in methods):
        return False
    if project.mentions_anywhere(rb"(?<!self)\.%b\b" % re.escape(called.name.encode())):
        return False  # something else may call it
    uses = [
        (each, use)
        for each in methods
        for use in of_class(each.node, cst.Attribute)
        if self_attribute(use) == called.name
    ]
    return bool(uses) and all(
        _is_under(each.node, use, ways)
        or (each.name not in known and _is_called_under(project, methods, each, ways, known | {each.name}))
        for each, use in uses
    )


def _is_under(method: cst.CSTNode, node: cst.CSTNode, ways: list[_Outcomes]) -> bool:
    """Whether a place is reached only with one of the outcomes of a way, and with none that excludes it."""
    around = [Condition(branch.test, holds) for branch, holds in ifs_around(method, node)]
    around += [Condition(each.test, False) for each in exits_before(method, node)]
    parts = (part for each in around for part in outcomes_of_parts(each))
    here = _texts(each for each in parts if of_class(each.test, cst.Attribute))
    return any(
        any(here.get(text) is holds for text, holds in way.items())
        and not any(here.get(text, holds) is not holds for text, holds in way.items())
        for way in ways
    )
