"""Hand a tensor to the collective: `gather(x.sum().item())` becomes `gather(x.sum()).sum().item()`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class ItemBeforeGatherCommand(FindingCommand):
    DESCRIPTION = "Hand tensors, not Python numbers, to collectives (TRL001)."
    CODE = "TRL001"
