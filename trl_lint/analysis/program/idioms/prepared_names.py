"""What a file calls the things that its Accelerator prepares, and how often a prepared schedule steps.

made = ExponentialLR(optimizer, 0.9)
model, made = accelerator.prepare(model, made)        calls_behind(…, made): the call of ExponentialLR
model, schedule = accelerator.prepare(model, made)    names_of(…, made): "made" and "schedule"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import assignments, last_name, names_in, of_class, parts_of_target
from trl_lint.knowledge.schedules import SETTINGS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module


@noted
def step_for_each_process(module: Module) -> bool:
    """Whether a file creates its Accelerators, all with the settings by which a schedule makes a step per process."""
    tree = module.tree
    created = [each for each in of_class(tree, cst.Call) if last_name(each.func) == "Accelerator"]
    passed = [argument for call in created for argument in call.args if argument.star]
    texts = {each.raw_value for each in of_class(tree, cst.SimpleString)}
    is_known = all(_is_made_here(tree, each.value) for each in passed)
    return bool(created) and is_known and SETTINGS.isdisjoint(names_in(tree) | texts)


def _is_made_here(tree: cst.Module, options: cst.BaseExpression) -> bool:
    """Whether a file only assigns dicts to a name that it writes out: `options = {}`."""
    if isinstance(options, cst.Dict):
        return not any(isinstance(each, cst.StarredDictElement) for each in options.elements)
    values = [
        value for target, value in assignments(tree) if isinstance(target, cst.Name) and _is_name(options, target)
    ]
    return bool(values) and all(isinstance(each, cst.Dict) and _is_made_here(tree, each) for each in values)


def _is_name(options: cst.BaseExpression, name: cst.Name) -> bool:
    return isinstance(options, cst.Name) and options.value == name.value


def calls_behind(tree: cst.Module, function: cst.CSTNode, prepared: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls whose results are assigned to what is prepared in a function, itself among them."""
    if isinstance(prepared, cst.Call):
        yield prepared
    if isinstance(prepared, (cst.Name, cst.Attribute)):
        root = function if isinstance(prepared, cst.Name) else tree
        for target, value in assignments(root):
            if type(target) is type(prepared) and target.deep_equals(prepared):
                yield from (value,) if isinstance(value, cst.Call) else of_class(value, cst.Call)


def names_of(tree: cst.Module, prepare: cst.Call, prepared: cst.BaseExpression) -> set[str]:
    """The names of one of the things that are prepared; none if the result of `prepare` is dropped."""
    place = next(place for place, each in enumerate(prepare.args) if each.value is prepared)
    found = {last_name(prepared)}
    for target, value in assignments(tree):
        if value is prepare:
            parts = list(parts_of_target(target))
            found.add(last_name(parts[place]) if len(parts) == len(prepare.args) else "")
            return found - {""}
    return set()
