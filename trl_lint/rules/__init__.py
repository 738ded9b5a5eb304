"""The rules, found by walking this package: one module per rule, named after the bug it finds."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from trl_lint.rules.base import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by code. Importing them costs no LibCST: rules only ask questions about events."""
    rules = []
    for module in pkgutil.iter_modules(__path__):
        if module.name != "base":
            rules.extend(import_module(f"{__name__}.{module.name}").RULES)
    return tuple(sorted(rules, key=lambda rule: rule.code))


def find_rule(code_or_name: str) -> Rule | None:
    """The rule with this code or name, in any case; None when there is none."""
    wanted = code_or_name.lower()
    return next((rule for rule in all_rules() if wanted in (rule.code.lower(), rule.name)), None)
