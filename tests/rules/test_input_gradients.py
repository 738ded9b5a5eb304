"""TRL009: a forward of which only `torch.autograd.grad` takes gradients trains nothing."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL009")

PROGRAM = """\
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.autograd import grad
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)

    def forward(self, x):
        return self.body(x)


def extra(net, x, y):
    x = x.clone().requires_grad_(True)
    {lines}


def main(rows):
    dist.init_process_group("nccl")
    net = Net().cuda()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in DataLoader(rows):
        {use}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main(range(8))
"""
ATTACK = "x = x + extra(net, x, y).sign()\n        loss = F.cross_entropy(model(x), y)"
PENALTY = "loss = F.cross_entropy(model(x), y)\n        loss = loss + extra(net, x, y).pow(2).mean()"


def is_reported(lines: list[str], use: str) -> bool:
    return bool(SNIPPETS.findings(PROGRAM.format(lines="\n    ".join(lines), use=use)))


@pytest.mark.parametrize(
    "lines",
    [
        ["return torch.autograd.grad(net(x).sum(), x)[0]"],
        ["return grad(F.cross_entropy(net(x), y), x, create_graph=False)[0]"],
        ["out = net(x)", "value = F.cross_entropy(out, y)", "print(value.item())", "return grad(value, [x])[0]"],
        ["value = net.body(x).sum()", "(found,) = torch.autograd.grad(outputs=value, inputs=x)", "return found"],
    ],
)
def test_gradients_of_the_input(lines):
    assert not is_reported(lines, ATTACK)


@pytest.mark.parametrize(
    "lines",
    [
        ["return torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]"],
        ["value = net(x).sum()", "grad(value, [x])", "return value"],
        ["value = net(x).sum()", "value = value * 2", "grad(value, [x])", "return value"],
        ["return net(x)"],
    ],
)
def test_what_may_be_trained_with_is_reported(lines):
    assert is_reported(lines, PENALTY)
