"""A branch on data: only the rank whose batch has a long row gathers it."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
rows = torch.zeros(16, 12, dtype=torch.long)
rows[2, :] = 1
loader = accelerator.prepare(DataLoader(rows, batch_size=2))
for batch in loader:
    lengths = (batch != 0).sum(dim=1)
    if lengths.max() > 8:  # cause
        seen = accelerator.gather(lengths)  # waits: 1
        accelerator.print("longest", int(seen.max()))
    accelerator.wait_for_everyone()  # waits: 0
