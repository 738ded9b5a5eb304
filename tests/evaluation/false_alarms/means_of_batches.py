"""A mean over batches counts each batch the same, on one process and on several: no rank counts for more."""

import numpy as np
import torch
from accelerate import Accelerator


def evaluate(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    means, numbers, sums, counts = [], [], [], []
    for batch in loader:
        mask = batch["attention_mask"]
        kl = model(**batch).logits
        mean = (kl * mask).sum() / mask.sum()
        means.append(mean)
        numbers.append(mean.item())
        sums.append((kl * mask).sum())
        counts.append(mask.sum())
        print(accelerator.gather(mean).mean())  # expect: TRL007
        print(accelerator.gather(mean.mean()).mean())  # expect: TRL007
    print(accelerator.gather(torch.stack(means).mean()).mean())
    print(accelerator.reduce(torch.stack(means).mean(dim=0), "mean"))
    print(accelerator.gather(torch.tensor(np.mean(numbers), device=accelerator.device)).mean())
    total = torch.stack(sums).sum() / torch.stack(counts).sum()
    print(accelerator.gather(total).mean())  # expect: TRL007
