"""TRL019: samplers of the project around one of torch that shuffles for the epoch that it is told."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL019")
PROGRAM = """\
import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, Sampler
from mine import build, rows


class Own({base}):
    def __init__(self, sampler, size=2):
        {kept}

    def __iter__(self):
        {gives}

    def set_epoch(self, epoch):
        self.sampler.set_epoch(epoch)

    def ordered(self, indices):
        return random.sample(indices, len(indices))


dist.init_process_group("nccl")
model = DistributedDataParallel(build().cuda())
optimizer = torch.optim.SGD(model.parameters())
inner = {inner}
loader = DataLoader(rows, {given})
for epoch in range(3):
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
"""
RIGHT = {
    "base": "Sampler",
    "kept": "self.sampler, self.size = sampler, size",
    "gives": "for i in self.sampler: yield from [i] * self.size",
    "inner": "DistributedSampler(rows)",
    "given": "sampler=Own(inner)",
}


def count(**parts: str) -> int:
    return len(SNIPPETS.findings(PROGRAM.format(**{**RIGHT, **parts})))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"given": "sampler=Own(size=3, sampler=inner)"},
        {"given": "sampler=Own(DistributedSampler(rows))"},
        {"given": "sampler=Own(Own(inner))"},
        {"given": "batch_sampler=Own(BatchSampler(inner, 4, True))"},
        {"given": "batch_sampler=Own(inner, 4)", "base": "BatchSampler"},
        {"base": "torch.utils.data.sampler.Sampler"},
        {"gives": "yield from self.sampler"},
        {"gives": "return iter(self.sampler)"},
        {"gives": "return iter([i for i in self.sampler if i % 2])"},
        {"gives": "for at, i in enumerate(self.sampler): yield i"},
    ],
)
def test_the_sampler_inside_is_told_nothing(parts):
    assert count(**parts) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"inner": "DistributedSampler(rows, shuffle=False)"},
        {"inner": "make(rows)"},
        {"base": "object"},
        # It has an order of its own.
        {"gives": "return iter(random.sample(list(self.sampler), 9))"},
        {"gives": "return iter(self.ordered(list(self.sampler)))"},
        # It tells the epochs itself.
        {"gives": "self.size += 1; self.sampler.set_epoch(self.size); yield from self.sampler"},
        {"gives": "for i in self.sampler: yield self.size[i]", "kept": "self.sampler, self.size = make(sampler), size"},
        # It goes through two.
        {"gives": "for i in self.sampler:\n            for j in self.size: yield i + j"},
        {"given": "sampler=Own(*inner)"},
    ],
)
def test_other_samplers(parts):
    assert count(**parts) == 0


def test_what_tells_the_one_around_it():
    parts = {"inner": "DistributedSampler(rows)\nsampler = Own(inner)", "given": "sampler=sampler"}
    text = PROGRAM.format(**{**RIGHT, **parts})
    assert len(SNIPPETS.findings(text)) == 1
    told = text.replace("    for batch in loader:", "    sampler.set_epoch(epoch)\n    for batch in loader:")
    assert not SNIPPETS.findings(told)
