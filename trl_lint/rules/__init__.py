"""The rules, found by walking this package: one module per rule, named after the bug it finds."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trl_lint.rules.base import BaseRule, Rule

if TYPE_CHECKING:
    from types import ModuleType

    from trl_lint.analysis.events import Event


@cache
def all_rules() -> tuple[BaseRule, ...]:
    """Every rule, sorted by code. Importing them costs no LibCST: rules only ask questions about events."""
    names = (module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")
    rules = (_rule_of(import_module(f"{__name__}.{name}")) for name in names)
    return tuple(sorted(rules, key=lambda rule: rule.code))


def _rule_of(module: ModuleType) -> BaseRule:
    """The one rule that a module defines."""
    kinds = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, BaseRule))
    (found,) = (each for each in kinds if each.__module__ == module.__name__)
    return found()


def by_event(rules: Iterable[BaseRule]) -> Mapping[type[Event], tuple[Rule[Any], ...]]:
    """Which rules ask about the events of each class."""
    found: dict[type[Event], tuple[Rule[Any], ...]] = {}
    for rule in rules:
        if isinstance(rule, Rule):
            for event in rule.events:
                found[event] = (*found.get(event, ()), rule)
    return found


def find_rule(code_or_name: str) -> BaseRule | None:
    """The rule with this code or name, in any case; None when there is none."""
    wanted = code_or_name.lower()
    return next((rule for rule in all_rules() if wanted in (rule.code.lower(), rule.name)), None)
