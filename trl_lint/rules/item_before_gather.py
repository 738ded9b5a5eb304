"""(stub page of item-before-gather)"""

from __future__ import annotations

from trl_lint.rules.base import Rule


class ItemBeforeGather(Rule):
    code = "TRL001"
    name = "item-before-gather"


RULES = (ItemBeforeGather(),)
