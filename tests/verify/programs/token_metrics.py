"""A shuffled loop with dropout and no seed, whose loss is each rank's mean over its own tokens.

It logs a mean of the ranks' means, the right mean over all tokens, the spread of each rank's own, and the loss.
"""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

PAD = 0


def rows(count=22):
    draw = torch.Generator().manual_seed(7)
    each = [torch.randint(1, 11, (1 + 5 * (row % 3),), generator=draw) for row in range(count)]
    return nn.utils.rnn.pad_sequence(each, batch_first=True, padding_value=PAD)


def main():
    accelerator = Accelerator()
    model = nn.Sequential(nn.Embedding(11, 8), nn.Dropout(0.2), nn.Linear(8, 11))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(rows(), batch_size=2, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for tokens in loader:
        logits, mask = model(tokens), tokens != PAD
        losses = cross_entropy(logits.transpose(1, 2), tokens, reduction="none")
        loss = losses[mask].mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        right = (logits.argmax(-1) == tokens)[mask].float()
        hits, count = accelerator.reduce(torch.stack([right.sum(), mask.sum().float()]))
        means = accelerator.gather(right.mean())
        spread = accelerator.gather(losses[mask].detach().std())
        accelerator.log(
            {
                "mean_of_means": means.mean().item(),
                "accuracy": (hits / count).item(),
                "spread": spread.mean().item(),
                "train/loss": accelerator.gather(loss.detach()).mean().item(),
            }
        )


main()
