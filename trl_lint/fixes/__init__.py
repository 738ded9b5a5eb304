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
    """The fix in a module, which is named in full (`BaseRule.fix_module`); None where the rule only hints."""
    from trl_lint.fixes.base import RuleFix

    if not _is_there(module):
        return None
    kinds = vars(import_module(module)).values()
    (found,) = (
        each for each in kinds if isinstance(each, type) and each.__module__ == module and issubclass(each, RuleFix)
    )
    return found()


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a plugin without a package of fixes
        return False
