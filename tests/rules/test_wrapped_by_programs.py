"""TRL006: a program of another file tells in which order the methods of a class run that loads, wraps and trains."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint import api
from trl_lint.settings import Settings

CLASS = """\
import torch
from somewhere import build, rows

class Job:
    def __init__(self, local_rank):
        self.local_rank = local_rank
        self.model = None
        torch.distributed.init_process_group("nccl")

    def load(self, name):
        self.model = build(name)

    def wrap(self):
        if self.local_rank != -1:
            self.model = torch.nn.parallel.DistributedDataParallel(self.model)

    def train(self):
        for batch in rows():
            loss = self.model(batch).mean()
            if torch.isnan(loss):
                break
            loss.backward()
"""
PROGRAM = """\
import argparse
import torch.distributed
from {module} import Job

def main(args):
    job = Job(args.local_rank)
    job.load("x")
    {calls}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("module", "calls", "is_found"),
    [
        ("job", ("job.wrap()", "job.train()"), True),
        ("job", ("job.train()", "job.wrap()"), False),
        ("job", ("job.train()",), False),
        ("job", ("if args.local_rank != -1:", "    job.wrap()", "else:", "    job.train()"), False),
        ("somewhere", ("job.wrap()", "job.train()"), False),
    ],
)
def test_the_order_of_a_program_beside(module, calls, is_found, tmp_path: Path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "job.py").write_text(CLASS)
    (tmp_path / "train.py").write_text(PROGRAM.format(module=module, calls="\n    ".join(calls)))
    findings = api.check(tmp_path, Settings(root=tmp_path))
    places = [(Path(each.path).name, each.start.line) for each in findings if each.code == "TRL006"]
    assert places == [("job.py", 21)] * is_found


AGENT = """\
import torch
from torch import nn

class Agent(nn.Module):
    def __init__(self, policy):
        super().__init__()
        self.policy = policy

    def forward(self, x):
        return self.policy(x)

    def act(self, state):
        return self.policy(state.view(-1, self.policy.size))
"""
PUTS_IT_IN = """\
import torch
from agents import Agent
from somewhere import load
from torch.nn.parallel import DistributedDataParallel

torch.distributed.init_process_group("nccl")
agent = Agent(load("policy"))
{first}
{then}
agent(torch.ones(2, 3)).sum().backward()
"""
WRAPS_A_PART = "agent.policy = DistributedDataParallel(agent.policy)"


@pytest.mark.parametrize(
    ("first", "then", "is_reported"),
    [
        (WRAPS_A_PART, "agent.act(torch.ones(2, 3))", True),
        ("agent.act(torch.ones(2, 3))", WRAPS_A_PART, False),
        (WRAPS_A_PART, "agent.policy.module.size", False),
        ("agent.critic = DistributedDataParallel(load('critic'))", "agent.act(torch.ones(2, 3))", False),
    ],
)
def test_a_model_whose_part_a_program_wraps_may_be_in_a_file_without_a_library(
    first: str, then: str, is_reported: bool, tmp_path: Path
):
    (tmp_path / "agents.py").write_text(AGENT)
    (tmp_path / "main.py").write_text(PUTS_IT_IN.format(first=first, then=then))
    (tmp_path / "pyproject.toml").touch()
    found = api.check(tmp_path, Settings(root=tmp_path, select=("TRL002",)))
    assert [Path(each.path).name for each in found] == ["agents.py"] * is_reported
