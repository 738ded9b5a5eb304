"""Hand collectives tensors of the process's own device: `gather(torch.tensor(n, device=accelerator.device))`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class WrongDeviceCollectiveCommand(FindingCommand):
    DESCRIPTION = "Hand collectives tensors that are on the process's own device (TRL011)."
    CODE = "TRL011"
