"""TRL006: a network that a function makes and trains itself has no wrapper, whatever was trained before."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")

PROGRAM = """\
import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(16, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.body(x))


def adapted(net, x, y):
    clone = copy.deepcopy(net)
    optimizer = torch.optim.SGD(clone.parameters(), 0.1)
    for _ in range(3):
        loss = F.cross_entropy(clone.head(clone.body(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return clone


def trained(net, x, y):
    loss = F.cross_entropy(net(x), y)
    loss.backward()


def relayed(net, x, y):
    for _ in range(3):
        trained(net, x, y)


def fitted(x, y):
    trained(Net(), x, y)


def fitted_by_helper(x, y):
    probe = nn.Linear(16, 5)
    relayed(probe, x, y)


class Probe:
    def __init__(self):
        self.net = None
        self.head = nn.Linear(16, 5)

    def fit(self, x, y):
        net = Net()
        self.net = net.to("cuda")
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
        relayed(self.net, x, y)

    def fit_head(self, x, y):
        F.cross_entropy(self.head(x), y).backward()


class Given:
    def __init__(self, net):
        self.net = net
        self.inner = net.head

    def fit(self, x, y):
        relayed(self.net, x, y)

    def fit_head(self, x, y):
        F.cross_entropy(self.inner(x), y).backward()


class Kept:
    def __init__(self):
        self.net = Net()
        self.all = DistributedDataParallel(self.net)

    def fit(self, x, y):
        relayed(self.net, x, y)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for _ in range(2):
            layers.append(nn.Linear(16, 16))
            layers.append(nn.ReLU())
        self.body = nn.Sequential(*layers[:-1])

    def forward(self, x):
        return self.body(x)


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for _ in range(2):
            layers.append(nn.ReLU())
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)


def main(rows):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(Net().cuda())
    kept = Kept()
    for x, y in DataLoader(rows):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
    if dist.get_rank() == 0:
{body}


main(range(8))
"""


def waits(body: list[str]) -> bool:
    """Whether a backward pass on one rank is reported."""
    findings = SNIPPETS.findings(PROGRAM.format(body="\n".join(f"        {line}" for line in body)))
    return any("reach `backward`" in each.message for each in findings)


@pytest.mark.parametrize(
    "body",
    [
        ["adapted(model.module, torch.randn(3, 16), torch.ones(3))"],
        ["probe = nn.Linear(16, 5).cuda()", "loss = probe(torch.randn(3, 16)).sum()", "loss.backward()"],
        ["probe = nn.Sequential(nn.Linear(16, 5), nn.ReLU())", "probe(torch.randn(3, 16)).sum().backward()"],
        ["probe = Net()", "probe = probe.cuda()", "loss = probe(torch.randn(3, 16)).sum()", "loss.backward()"],
        [
            "with torch.no_grad():",
            "    features = model.module.body(torch.randn(3, 16))",
            "probe = nn.Linear(16, 5)",
            "losses = []",
            "for each in features:",
            "    losses.append(probe(each).sum())",
            "torch.stack(losses).mean().backward()",
        ],
        ["probe = nn.Linear(5, 5)", "probe(logits.detach()).sum().backward()"],
        # It starts with the numbers of the wrapped one.
        [
            "probe = Net()",
            "with torch.no_grad():",
            "    probe.head.weight.copy_(model.module.head.weight)",
            "probe.to('cuda')",
            "probe(torch.randn(3, 16)).sum().backward()",
        ],
        [
            "probe = Net()",
            "probe.head.weight.data.copy_(model.module.head.weight)",
            "probe(torch.randn(3, 16)).sum().backward()",
        ],
        [
            "probe = Net()",
            "probe.load_state_dict(model.module.state_dict())",
            "probe(torch.randn(3, 16)).sum().backward()",
        ],
        # A helper trains it.
        ["trained(nn.Linear(16, 5), torch.randn(3, 16), torch.ones(3))"],
        ["trained(Net().cuda(), torch.randn(3, 16), torch.ones(3))"],
        ["trained(nn.Sequential(nn.ReLU(), nn.Linear(16, 5)), torch.randn(3, 16), torch.ones(3))"],
        ["probe = Net()", "trained(y=torch.ones(3), x=logits.detach(), net=probe.to('cuda'))"],
        ["fitted(torch.randn(3, 16), torch.ones(3))"],
        ["fitted_by_helper(torch.randn(3, 16), torch.ones(3))"],
        # An object makes it, and keeps it.
        ["Probe().fit(torch.randn(3, 16), torch.ones(3))"],
        ["probe = Probe()", "probe.fit_head(torch.randn(3, 16), torch.ones(3))"],
        # Its layers are made in a list.
        ["probe = Layers()", "probe(torch.randn(3, 16)).sum().backward()"],
    ],
)
def test_its_backward_pass_reduces_nothing(body):
    assert not waits(body)


@pytest.mark.parametrize(
    "body",
    [
        ["loss.backward()"],
        # What is made here has no parameters, or is not all that the loss is computed from.
        ["criterion = nn.CrossEntropyLoss()", "criterion(logits, torch.ones(3)).backward()"],
        ["critic = nn.Linear(5, 1)", "critic(logits).sum().backward()"],
        ["probe = nn.Linear(16, 5)", "loss = loss + probe(torch.randn(3, 16)).sum()", "loss.backward()"],
        # The wrapper is in it.
        [
            "probe = nn.Sequential(nn.Linear(16, 16))",
            "probe.append(model)",
            "probe(torch.randn(3, 16)).sum().backward()",
        ],
        # Somebody else has made it.
        ["trained(model.module, torch.randn(3, 16), torch.ones(3))"],
        # A helper is passed what a wrapper may take part in.
        ["inner = model.module", "trained(inner, torch.randn(3, 16), torch.ones(3))"],
        ["trained(nn.Linear(5, 5), torch.randn(3, 5) + logits, torch.ones(3))"],
        ["relayed(model.module, torch.randn(3, 16), torch.ones(3))"],
        # An object is passed what it keeps, or wraps it.
        ["Given(model.module).fit(torch.randn(3, 16), torch.ones(3))"],
        ["Given(model.module).fit_head(torch.randn(3, 16), torch.ones(3))"],
        ["kept.fit(torch.randn(3, 16), torch.ones(3))"],
        # Its layers have no parameters.
        ["probe = Activations()", "probe(torch.randn(3, 16)).sum().backward()"],
    ],
)
def test_what_a_wrapper_may_take_part_in_is_reported(body):
    assert waits(body)
