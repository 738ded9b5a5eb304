"""TRL003: a sampler of the project that takes every n-th row gives each rank a share of its own."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL003")
EVALUATES = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.sampler import Sampler


class Own({base}):
    def __init__(self, rows, rank=None, world_size=None):
        if world_size is None:
            world_size = dist.get_world_size()
        if rank is None:
            rank = dist.get_rank()
        self.rows = rows
        self.rank = rank
        self.world_size = world_size

    def __iter__(self):
        places = list(range(len(self.rows)))
        return iter({places})


def evaluate(model, rows):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    loader = DataLoader(rows, batch_size=8, sampler=Own(rows))
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            total += model(batch["x"]).mean().item()
    print(total / len(loader))
"""
SHARE = "places[self.rank : len(places) : self.world_size]"


@pytest.mark.parametrize(
    ("base", "places", "speaks"),
    [
        ("Sampler", SHARE, True),
        ("torch.utils.data.Sampler[int]", "places[self.rank :: self.world_size]", True),
        ("object", SHARE, False),
        ("Sampler", "places[:: self.world_size]", False),
        ("Sampler", "places[self.first : : 2]", False),
    ],
)
def test_every_nth_row_from_the_number_of_the_rank(base, places, speaks):
    assert bool(SNIPPETS.findings(EVALUATES.format(base=base, places=places))) is speaks


@pytest.mark.parametrize("given", ["0, 1", "rank=0, world_size=1", "world_size=1"])
def test_a_sampler_that_is_also_told_to_take_all_rows(given):
    text = EVALUATES.format(base="Sampler", places=SHARE).replace("Own(rows)", f"Own(rows, {given})")
    assert SNIPPETS.findings(text) == []
    both = text.replace("    total = 0.0", "    other = DataLoader(rows, sampler=Own(rows))\n    total = 0.0")
    assert SNIPPETS.findings(both) == []


SEEDED = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler


class Episodes(Sampler):
    def __init__(self, count, seed, rank=0):
        self.count, self.seed, self.rank = count, seed, rank

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed({seed})
        for _ in range(self.count):
            yield torch.randperm(100, generator=generator)[:8].tolist()


def evaluate(model, rows):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    loader = DataLoader(rows, batch_sampler=Episodes({given}))
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            total += model(batch["x"]).mean().item()
    print(total / len(loader))
"""


@pytest.mark.parametrize(
    ("seed", "given", "speaks"),
    [
        ("self.seed + 1000 * self.rank", "600, 1, rank=dist.get_rank()", True),
        ("self.seed + 1000 * self.rank", "600, 1, dist.get_rank()", True),
        ("self.seed + dist.get_rank()", "600, 1", True),
        ("self.seed", "600, 1 + dist.get_rank()", True),
        ("self.seed + 1000 * self.rank", "600, 1", False),
        ("self.seed + 1000 * self.rank", "600, 1, rank=0", False),
        ("self.seed", "600, 1, rank=dist.get_rank()", False),
    ],
)
def test_rows_that_are_drawn_with_the_seed_of_each_rank(seed, given, speaks):
    assert bool(SNIPPETS.findings(SEEDED.format(seed=seed, given=given))) is speaks
