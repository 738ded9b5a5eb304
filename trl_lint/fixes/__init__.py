"""Fixes for findings: each rule that has one is planned by a module of the same name.

Nothing in this package is imported before there is a finding.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trl_lint.plugins import has_module

if TYPE_CHECKING:
    from trl_lint.fixes.base import RuleFix


@cache
def fix_of(module: str) -> RuleFix[Any] | None:
    """The fix in a module, given by its full name (`BaseRule.fix_module`); None if the rule has only hints."""
    from trl_lint.fixes.base import RuleFix

    if not has_module(module):
        return None
    kinds = vars(import_module(module)).values()
    (found,) = (
        each for each in kinds if isinstance(each, type) and each.__module__ == module and issubclass(each, RuleFix)
    )
    return found()
