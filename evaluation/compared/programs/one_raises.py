"""An exception on one rank: a row without an answer is in its share alone."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

ROWS = [{"prompt": "a", "answer": "b"}] * 7 + [{"prompt": "a"}]

accelerator = Accelerator()


def collate(rows):
    return torch.tensor([len(row["answer"]) for row in rows])  # cause: 1


loader = accelerator.prepare(DataLoader(ROWS, batch_size=2, collate_fn=collate))
for batch in loader:
    total = accelerator.reduce(batch.float().sum())
    accelerator.print("tokens", total.item())
