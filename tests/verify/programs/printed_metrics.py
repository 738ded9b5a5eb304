"""A loop on an Accelerator that logs nothing: it prints a mean of means, the right mean, and the norm of gradients."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

PAD = 0


def rows(count=16):
    draw = torch.Generator().manual_seed(7)
    each = [torch.randint(1, 11, (1 + 5 * (row % 3),), generator=draw) for row in range(count)]
    return nn.utils.rnn.pad_sequence(each, batch_first=True, padding_value=PAD)


def main():
    accelerator = Accelerator()
    model = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(rows(), batch_size=2, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for tokens in loader:
        logits, mask = model(tokens), tokens != PAD
        loss = cross_entropy(logits.transpose(1, 2), tokens, ignore_index=PAD)
        accelerator.backward(loss)
        norm = accelerator.clip_grad_norm_(model.parameters(), 0.1)
        accelerator.print(f"norm of gradients {norm.item():.3f}, loss of this rank {loss.item():.3f}")
        optimizer.step()
        optimizer.zero_grad()
        right = (logits.argmax(-1) == tokens)[mask].float()
        wrong = accelerator.reduce(right.mean(), reduction="mean").item()
        hits, count = accelerator.reduce(torch.stack([right.sum(), mask.sum().float()]))
        accelerator.print(f"mean of means {wrong:.3f}, accuracy {(hits / count).item():.3f}")


main()
