"""The devices of values, independent of any rule: `reveal_rank(x)` reports a value, which has its device."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.analysis.data_events import DatasetPrepared
from trl_lint.analysis.events import Event, Revealed
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.program.project.project import Project
from trl_lint.domain.control import Uniformity
from trl_lint.domain.devices import BY_RANK, GLOBAL_RANK, HOST, MAYBE_CPU

HEAD = """\
import os
import numpy
import torch
import torch.distributed as dist
from accelerate import Accelerator, PartialState
from datasets import load_dataset

accelerator = Accelerator()
state = PartialState()
mine = accelerator.gather(torch.ones(1, device=accelerator.device))
host = torch.ones(1)
"""


def events(tmp_path: Path, code: str) -> list[Event]:
    path = tmp_path / "program.py"
    path.write_text(HEAD + code + "\n")
    project = Project((tmp_path,))
    module = project.module(path)
    assert module is not None
    return Engine(project).analyse(module)


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("torch.tensor(1)", "cpu"),
        ("torch.tensor(1, device='cuda')", ""),
        ("torch.tensor(1, device=torch.device('cpu'))", "cpu"),
        ("torch.tensor(1, device=torch.device('cuda', 1))", "cuda:1"),
        ("torch.tensor(1, device=host.device)", "cpu"),
        ("torch.tensor(1, device=mine.device)", ""),
        ("torch.tensor(1, device=None)", "cpu"),
        ("torch.zeros(1, device=0)", "cuda:0"),
        ("torch.randperm(3)", "cpu"),
        ("torch.from_numpy(numpy.ones(1))", "cpu"),
        ("torch.as_tensor(mine)", ""),
        ("torch.as_tensor(host)", "cpu"),
        ("torch.tensor([mine])", "cpu"),
        ("mine.cpu()", "cpu"),
        ("mine.cpu().to(accelerator.device)", ""),
        ("mine.to('cuda:2')", "cuda:2"),
        ("mine.cuda(1)", "cuda:1"),
        ("host.to(torch.float16)", "cpu"),
        ("host.to(mine)", ""),
        ("host.type_as(mine)", ""),
        ("host.float().sum()", "cpu"),
        ("host.numpy()", HOST),
        ("host * 2 + 1", "cpu"),
        ("host + mine", MAYBE_CPU),
        ("torch.cat([host, host])", "cpu"),
        ("host if os.path.exists('x') else mine", MAYBE_CPU),
        ("host if os.path.exists('x') else None", "cpu"),
        ("dist.get_rank()", GLOBAL_RANK),
        ("int(os.environ['RANK'])", GLOBAL_RANK),
        ("int(os.environ['LOCAL_RANK'])", ""),
        ("state.process_index", GLOBAL_RANK),
        ("state.local_process_index", ""),
        ("state.process_index % 8", ""),
        ("state.process_index % state.num_processes", GLOBAL_RANK),
        ("dist.get_rank() % dist.get_world_size()", GLOBAL_RANK),
        ("dist.get_rank() % (dist.get_world_size() if dist.is_initialized() else 1)", GLOBAL_RANK),
        ("int(os.environ['RANK']) % int(os.environ['WORLD_SIZE'])", GLOBAL_RANK),
        ("dist.get_rank() % torch.cuda.device_count()", ""),
        ("dist.get_rank() % (torch.cuda.device_count() if mine else dist.get_world_size())", ""),
        ("dist.get_rank() % int(os.environ['LOCAL_WORLD_SIZE'])", ""),
        ("dist.get_world_size() % dist.get_rank()", ""),
        ("f'cuda:{state.process_index}'", BY_RANK),
        ("state.process_index if torch.cuda.is_available() else 'cpu'", GLOBAL_RANK),
    ],
)
def test_a_value_says_where_it_is(tmp_path: Path, expression: str, place: str):
    (event,) = [each for each in events(tmp_path, f"reveal_rank({expression})") if isinstance(each, Revealed)]
    assert event.value.device == place


@pytest.mark.parametrize(
    ("block", "scope"),
    [
        ("with state.main_process_first():", "job"),
        ("with state.local_main_process_first():", "node"),
        ("with state.local_main_process_first(), state.main_process_first():", "job"),
        ("with torch.no_grad(), state.local_main_process_first():", "node"),
        ("with state.main_process_first() if state else torch.no_grad():", "job"),
        ("with torch.no_grad():", None),
        ("with somebody():", "unknown"),
        ("if state:", None),
    ],
)
def test_a_block_says_who_is_first(tmp_path: Path, block: str, scope: str | None):
    code = f"{block}\n    load_dataset('a').map(tokenize)\nload_dataset('b').map(tokenize)"
    inside, behind = [each for each in events(tmp_path, code) if isinstance(each, DatasetPrepared)]
    assert (inside.first_rank and inside.first_rank.scope) == scope
    assert behind.first_rank is None
    assert behind.control.uniformity is Uniformity.UNIFORM
