"""What the parameters of a library's hook hold when the library calls an override of it."""

from __future__ import annotations

from collections.abc import Mapping

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import flag
from trl_lint.domain.values import Value
from trl_lint.knowledge.schema import Hook


def parameters_of(rows: tuple[Hook, ...]) -> Mapping[str, Value]:
    """The facts of a hook's parameters, by position; those that all releases that may be in use share."""
    newest = rows[-1].parameters
    if len(rows) == 1:
        return newest
    merged = dict(newest)
    for row in rows[:-1]:
        for name, value in zip(newest, row.parameters.values(), strict=False):
            merged[name] = join(merged[name], value)
    return merged


def added_switches(method: FunctionInfo, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """The switches that a hook adds to the library's parameters; the library leaves them at their defaults."""
    if is_callback(parameters):
        return {}
    added = (each for each in method.parameters[1 + len(parameters) :] if not each.star and each.name not in parameters)
    switches = {each.name: getattr(each.default, "value", "") for each in added}
    return {name: _SWITCHES[value] for name, value in switches.items() if value in _SWITCHES}


_SWITCHES = {name: flag(name == "True") for name in ("False", "True")}


def is_callback(parameters: Mapping[str, Value]) -> bool:
    return "control" in parameters
