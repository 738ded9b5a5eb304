"""A gather of different lengths: each rank pads to the longest row of its own batch."""

import torch
from accelerate import Accelerator

accelerator = Accelerator()
for step in range(3):
    longest = 5 + 3 * accelerator.process_index + step
    tokens = torch.ones(2, longest, dtype=torch.long)
    everyone = accelerator.gather(tokens)  # cause: 0 1
    accelerator.print(everyone.shape)
accelerator.wait_for_everyone()
