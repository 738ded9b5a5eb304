"""What the message on an unreduced metric says: whose values the log shows, and the name of the metric."""

from __future__ import annotations

import pytest
from snippets import Snippets

PROGRAM = """\
import os
import time

import torch.distributed as dist
from torch.nn import Linear
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Log:
    def __init__(self, folder):
        self.writer = SummaryWriter(folder)

    def add(self, tag, value):
        self.writer.add_scalar(tag, value)


def epoch(args, model, loader, writer, log):
    total = 0.0
    for x in loader:
        total += model(x).mean().item()
        loss = model(x).mean()
        {logged}
        loss.backward()


def main(args, data):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(Linear(4, 4))
    loader = DataLoader(data, sampler=DistributedSampler(data), batch_size=8)
    {writer}
    epoch(args, model, loader, writer, Log("own"))


main(None, None)
"""
SNIPPETS = Snippets("TRL003")
OF_EACH = 'writer = SummaryWriter("log")'
OF_ONE = 'writer = SummaryWriter("log") if dist.get_rank() == 0 else None'
EACH, ONE = "each process logs its own value", "the log shows only the main process's value"
# What keeps the other ranks away, if anything does, is out of sight.
OPEN = "each log shows only one process's value"


@pytest.mark.parametrize(
    ("writer", "logged", "shown"),
    [
        (OF_EACH, 'writer.add_scalar("total", total)', EACH),
        (OF_EACH, 'log.add("total", total)', EACH),
        (OF_EACH, 'if args.log: writer.add_scalar("total", total)', EACH),
        (OF_EACH, 'if dist.get_rank() == 0: writer.add_scalar("total", total)', ONE),
        (OF_EACH, 'if dist.get_rank() == 0: log.add("total", total)', ONE),
        (OF_EACH, 'if args.chosen(): writer.add_scalar("total", total)', OPEN),
        (OF_EACH, 'if os.path.exists(args.log): writer.add_scalar("total", total)', OPEN),
        (OF_EACH, 'if time.time() > args.end: writer.add_scalar("total", total)', OPEN),
        (OF_EACH, 'import wandb; wandb.log({"total": total})', OPEN),
        (OF_EACH, 'import wandb; dist.get_rank() == 0 and wandb.log({"total": total})', ONE),
        (OF_ONE, 'writer.add_scalar("total", total)', ONE),
        (OF_ONE, 'if writer is not None: writer.add_scalar("total", total)', ONE),
    ],
)
def test_whose_values_a_log_shows(writer, logged, shown):
    messages = [each.message for each in SNIPPETS.findings(PROGRAM.format(writer=writer, logged=logged))]
    assert [each.partition("on several GPUs ")[2] for each in messages] == [shown]


@pytest.mark.parametrize(
    ("logged", "name"),
    [
        ('writer.add_scalar(tag="total", scalar_value=total)', "`total`"),
        ("writer.add_scalar(args.tag, total)", "`total`"),
        ("log.add(args.tag, total)", "`total`"),
        ("writer.add_scalar(args.tag, loss.detach().item())", "`loss`"),
        ("writer.add_scalar(args.tag, total * 2)", "this value"),
    ],
)
def test_a_metric_without_a_known_name_is_called_as_in_the_code(logged, name):
    messages = [each.message for each in SNIPPETS.findings(PROGRAM.format(writer=OF_EACH, logged=logged))]
    assert [each.partition(" is computed")[0] for each in messages] == [name]


KEPT = """\
import torch.distributed as dist
from torch.nn import Linear
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Trainer:
    def __init__(self, config, data):
        self.config = config
        self.model = DistributedDataParallel(Linear(4, 4))
        self.loader = DataLoader(data, sampler=DistributedSampler(data), batch_size=8)
        self.writer = None
        if {asked}:
            self.writer = SummaryWriter("log")

    def add(self, writer, tag, value):
        if writer is not None:
            writer.add_scalar(tag, value)

    def epoch(self):
        total = 0.0
        for x in self.loader:
            loss = self.model(x).mean()
            loss.backward()
            total += loss.item()
        self.add(self.writer, "total", total)


dist.init_process_group("nccl")
Trainer(read_config(), read_rows()).epoch()
"""


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ('self.config["global_rank"] == 0', ONE),
        ('self.config["global_rank"] == 0 or (not config["distributed"])', ONE),
        ('not config["distributed"] or self.config["global_rank"] == 0', ONE),
        ('self.config["global_rank"] == 0 or not config["verbose"]', EACH),
        ('self.config["global_rank"] == 0 or config["distributed"]', EACH),
        ('self.config["steps"] == 0 or not config["distributed"]', EACH),
    ],
)
def test_a_writer_that_the_other_processes_have_none_of_shows_the_values_of_one(asked, shown):
    """A setting of the job that is asked for as well has the same value on all ranks, be it an attribute or an item."""
    messages = [each.message for each in SNIPPETS.findings(KEPT.format(asked=asked))]
    assert [each.partition("on several GPUs ")[2] for each in messages] == [shown]
