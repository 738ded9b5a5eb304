# An instance of a project's own layers is no wrapper; a value that only may be an instance may be one.
import torch
from accelerate import Accelerator


class RandLinear(torch.nn.Linear):
    mu = 1.0


class RandConv(torch.nn.Conv2d):
    mu = 2.0


def share_of(layer):
    if isinstance(layer, RandLinear) or isinstance(layer, RandConv):  # noqa: SIM101
        return layer.mu
    return sum(share_of(each) for each in layer.children())


def unsure_share_of(layer, other):
    if isinstance(layer, RandLinear) or isinstance(other, RandConv):
        return layer.mu  # expect: TRL002
    return 0.0


def share_of_compiled(layer):
    if isinstance(layer, RandLinear) or (isinstance(layer, RandConv) and layer.mu > 1.0):
        return layer.mu
    return 0.0


def unsure_share_of_compiled(layer, flag):
    if isinstance(layer, RandLinear) or (flag and layer.training):
        return layer.mu  # expect: TRL002
    return 0.0


def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(torch.nn.Linear(2, 2), optimizer, loader)
    for batch in loader:
        loss = model(batch).sum() + share_of(model) + unsure_share_of(model, batch)
        loss = loss + share_of_compiled(model) + unsure_share_of_compiled(model, batch.any())
        accelerator.backward(loss)
        optimizer.step()
