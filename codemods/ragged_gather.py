"""Give collectives tensors of one shape: `gather(x).sum()` becomes `gather(x.sum()).sum()`, or `x` is padded."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class RaggedGatherCommand(FindingCommand):
    DESCRIPTION = "Give collectives tensors of one shape: reduced first, or padded (TRL005)."
    CODE = "TRL005"
