"""The operators that leave tensors unpadded, reduce them late or cut gathered values, on small snippets."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from evaluation.operators_shapes import cut, reduced_late, unpadded
from evaluation.source import Source

METHOD = """\
import torch
from transformers import Trainer


class T(Trainer):
    def {name}(self, x, inputs):
{body}
"""


def source_of(code: str, name: str = "compute_loss") -> Source:
    return Source(Path("trainer.py"), METHOD.format(name=name, body=textwrap.indent(code, " " * 8)))


def is_cut(code: str, name: str = "compute_loss") -> bool:
    return bool(list(cut(source_of(code, name))))


def test_padding_goes_and_what_gathers_is_due():
    source = source_of("p = self.accelerator.pad_across_processes(x, dim=1)\ny = self.accelerator.gather(p)")
    ((place, due),) = unpadded(source)
    assert (place.broken, [source.code(each) for each in due]) == ("x", ["y = self.accelerator.gather(p)"])
    assert not list(unpadded(source_of("p = self.accelerator.pad_across_processes(x, dim=1)")))


def test_a_reduction_is_made_late():
    source = source_of('n = self.accelerator.gather(inputs["attention_mask"].sum())')
    assert [place.broken for place in reduced_late(source)] == ['inputs["attention_mask"]']
    assert not list(reduced_late(source_of('n = self.accelerator.gather(inputs["rewards"].sum())')))


def test_a_gather_becomes_one_for_metrics():
    source = source_of("n = self.accelerator.gather(x.mean()).mean()")
    (place,) = cut(source)
    assert (source.code(place.target), place.broken) == (
        "self.accelerator.gather",
        "self.accelerator.gather_for_metrics",
    )


@pytest.mark.parametrize(
    "value",
    [
        "x.sum().detach()",
        "x.sum() / x.sum().clamp(min=1.0)",
        "x.sum() / self.steps",
        "x.mean() if inputs else x.sum()",
        "total",
        "summed",
        "average(x)",
        "outside(x)",
    ],
)
def test_one_value_is_told_by_the_text(value):
    code = f"""\
total = x.sum()
summed = x.mean()
if inputs:
    summed = x.sum()
summed = summed + total
summed += total

def average(y):
    if y.shape[1] == 1:
        return y.mean()
    return (y * inputs).sum() / total

self.accelerator.gather({value})"""
    helper = "\n\ndef outside(y):\n    return y.max()\n"
    assert bool(list(cut(Source(Path("trainer.py"), source_of(code).text + helper))))


@pytest.mark.parametrize(
    "value", ["x", "x.sum(1)", "several", "maybe", "rows(x)", "unknown(x)", "first", "x.mean() * x", "x[0]"]
)
def test_what_the_text_does_not_show_is_left(value):
    code = f"""\
several = x.sum()
for several in x:
    pass
maybe = x.sum()
maybe = x
first, _ = x.sum(), 1

def rows(y):
    if inputs:
        return y
    return y.sum()

self.accelerator.gather({value})"""
    assert not is_cut(code)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("compute_loss", True),
        ("_compute_self_distillation_loss", True),
        ("_compute_loss_liger", True),
        ("training_step", True),
        ("get_batch_loss_metrics", True),
        ("prediction_step", False),
        ("_generate_and_score_completions", False),
    ],
)
def test_only_steps_of_the_training_are_cut(name, expected):
    assert is_cut("self.accelerator.gather(x.mean())", name) is expected
