"""TRL006 in methods that an object of their class runs in separate processes, with the number of the process."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")

PROGRAM = """\
import torch.distributed as dist
import torch.multiprocessing as mp


class Trainer:
    def __init__(self):
        self.place = None

    def keep(self, number):
        self.place = number

    def join(self, number):
        dist.init_process_group("nccl", rank=number)

    def is_first(self):
        return self.place == 0

    def work(self, number, epochs):
        self.keep(number)
        self.join(number)
        if {test}:
            dist.barrier()

    def train(self):
        {start}
"""


@pytest.mark.parametrize(
    ("test", "start", "is_reported"),
    [
        ("number == 0", "mp.spawn(self.work, args=(3,), nprocs=2)", True),
        ("number == 0", "mp.spawn(fn=self.work, args=(3,), nprocs=2)", True),
        ("self.place == 0", "mp.spawn(self.work, args=(3,), nprocs=2)", True),
        ("self.is_first()", "mp.spawn(self.work, args=(3,), nprocs=2)", True),
        ("epochs == 0", "mp.spawn(self.work, args=(3,), nprocs=2)", False),
        ("number == 0", "mp.spawn(self.other, args=(self.work,), nprocs=2)", False),
        ("number == 0", "self.runner.spawn(self.work, 3)", False),
    ],
)
def test_the_first_parameter_is_the_number_of_the_process(test, start, is_reported):
    assert bool(SNIPPETS.findings(PROGRAM.format(test=test, start=start))) is is_reported
