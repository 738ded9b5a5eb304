"""The operators that move tensors off their device and let datasets lose their order, on small snippets."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from evaluation.operators_devices import everybody_first, to_the_cpu, without_device
from evaluation.source import Source

METHOD = """\
import torch
from transformers import Trainer


class T(Trainer):
    def step(self, x, n):
        {}
"""


def broken(operator, code: str) -> list[tuple[str, str, list[str]]]:
    """For each site: the old and the new code, and the statements in which a finding is due."""
    source = Source(Path("trainer.py"), METHOD.format(textwrap.indent(code, " " * 8).lstrip()))
    return [
        (source.code(s.place.target), s.place.broken, [source.code(each).strip() for each in s.due])
        for s in operator(source)
    ]


@pytest.mark.parametrize(
    ("code", "target", "mutant"),
    [
        ("self.accelerator.gather(x).mean().item()", "x", "x.cpu()"),
        ("self.accelerator.gather(x.sum())", "x.sum()", "x.sum().cpu()"),
    ],
)
def test_a_tensor_is_taken_to_the_cpu(code, target, mutant):
    assert broken(to_the_cpu, code) == [(target, mutant, [])]


def test_what_may_be_no_tensor_is_left():
    assert broken(to_the_cpu, "self.accelerator.gather_for_metrics(x)") == []


def test_a_tensor_loses_its_device():
    made = "torch.tensor([n], device=x.device)"
    gather = f"self.accelerator.gather({made})"
    assert broken(without_device, gather) == [(made, "torch.tensor([n])", [gather])]


def test_a_tensor_loses_its_device_where_it_is_bound():
    code = "t = torch.zeros(2, device=x.device, dtype=x.dtype)\nself.accelerator.gather(t)"
    ((target, mutant, due),) = broken(without_device, code)
    assert target.startswith("torch.zeros(2, device")
    assert mutant == "torch.zeros(2, dtype=x.dtype)"
    assert due == ["self.accelerator.gather(t)"]


def test_a_name_that_is_bound_twice_is_left():
    code = "t = torch.zeros(2, device=x.device)\nt = torch.ones(2, device=x.device)\nself.accelerator.gather(t)"
    assert broken(without_device, code) == []


def test_nobody_goes_first_any_more():
    code = "with PartialState().main_process_first():\n    dataset = dataset.map(f)\n    n = 1"
    expected = [("PartialState().main_process_first()", "torch.no_grad()", ["dataset = dataset.map(f)"])]
    assert broken(everybody_first, code) == expected
    assert broken(everybody_first, code.replace("main_", "local_main_")) == []
    assert broken(everybody_first, code.replace("dataset.map", "pool.map")) == []


def test_what_is_done_when_something_fails_is_not_due():
    code = (
        "with state.main_process_first():\n"
        "    try:\n        dataset = dataset.map(f)\n    except ValueError:\n        dataset = dataset.map(g)"
    )
    assert [due for _, _, due in broken(everybody_first, code)] == [["dataset = dataset.map(f)"]]
