# `prepare` returns a tensor as it is, also an `nn.Parameter`; a layer is wrapped.
import torch
from accelerate import Accelerator
from torch import nn


def weigh(model, loader, rows):
    accelerator = Accelerator()
    weights, head = nn.Parameter(torch.zeros(rows)), nn.Linear(8, 2)
    model, weights, head, loader = accelerator.prepare(model, weights, head, loader)
    for batch, index in loader:
        chosen = weights[index]
        loss = (head(model(batch)) * chosen.sum()).mean()
        accelerator.backward(loss)
        kept = weights.clone()
        with torch.no_grad():
            weights.copy_(kept)
    return head.in_features  # expect: TRL002
