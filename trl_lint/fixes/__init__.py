"""How findings are mended: for each rule that can be, a module of the rule's own name plans it.

Nothing of this package is imported before there is a finding.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trl_lint.fixes.base import RuleFix


@cache
def fix_of(module: str) -> RuleFix[Any] | None:
    """The fix of the rule whose module has this name; None where the rule only hints."""
    from trl_lint.fixes.base import RuleFix

    name = f"{__name__}.{module}"
    if find_spec(name) is None:
        return None
    kinds = vars(import_module(name)).values()
    (found,) = (
        each for each in kinds if isinstance(each, type) and each.__module__ == name and issubclass(each, RuleFix)
    )
    return found()
