"""(stub page of wrapped-model-attribute)"""

from __future__ import annotations

from trl_lint.rules.base import Rule


class WrappedModelAttribute(Rule):
    code = "TRL002"
    name = "wrapped-model-attribute"


RULES = (WrappedModelAttribute(),)
