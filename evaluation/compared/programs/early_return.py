"""A return before a gather: a rank without any answer to score leaves the function first."""

import torch
from accelerate import Accelerator

accelerator = Accelerator()


def log_accuracy(scores, mask):
    if not mask.any():
        return None  # cause
    accuracy = (scores[mask] > 0).float().mean()
    return accelerator.gather(accuracy).mean().item()  # waits: 0


def main():
    generator = torch.Generator().manual_seed(7)
    for step in range(4):
        scores = torch.randn(4, generator=generator)
        mask = torch.ones(4, dtype=torch.bool)
        if accelerator.process_index == 1 and step == 2:  # a batch of prompts alone
            mask[:] = False
        log_accuracy(scores, mask)


main()
