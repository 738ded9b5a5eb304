"""A controlled run: everything that varies by chance between runs or ranks is made deterministic.

Metrics of two runs are comparable only if both train the same way, which is not so for a script with dropout, without a
seed, or with a loss that is a mean over each rank's own tokens. In a controlled run

- dropout drops nothing,
- the generators of Python, NumPy and torch start with a fixed seed, and with the job's seed once data are read, after
  the model is created: whatever another seed changes depends on chance,
- an optimizer's step does not use the gradients: it moves each weight by a small random step that depends only on the
  number of the step. So the weights change as they do in training (a policy moves away from its reference), and are the
  same on all ranks, in one process, and in every run.

It also records whether the model's output for a row depends on the rest of its batch, and whether it computes in less
than 32 bits: in both cases other batches give other numbers.

Sources: torch/nn/functional.py `dropout`, `scaled_dot_product_attention`; torch/optim/optimizer.py
`register_optimizer_step_pre_hook`, `register_optimizer_step_post_hook` of torch 2.13.0.
"""

from __future__ import annotations

import contextlib
import operator
import random
import sys
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, cast

from . import trace, wrapping
from .imports import Patch
from .job import Job
from .training import MAX_WEIGHTS, is_sharded, is_within_another, parameters_of
from .wrapping import Function, Wrapper

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch.amp.autocast_mode import autocast
    from torch.nn import Module
    from torch.optim import Optimizer

# Functions of torch.nn.functional, the parameter with the dropout probability, and its position.
_DROPS = (
    ("dropout", "p", 1),
    ("alpha_dropout", "p", 1),
    ("dropout1d", "p", 1),
    ("dropout2d", "p", 1),
    ("dropout3d", "p", 1),
    ("feature_alpha_dropout", "p", 1),
    ("scaled_dot_product_attention", "dropout_p", 4),
)
# How far a weight moves in the first step, relative to the mean size of its parameter's weights, or to 1 if all are 0:
# far enough that a small random model distinguishes rows. Later steps are shorter, so that the weights do not drift
# away.
_FIRST_STEP = 0.5
# By module, the classes whose output mixes rows, or positions regardless of a mask.
_MIXING = {
    "torch.nn.modules.batchnorm": ("_BatchNorm",),
    "torch.nn.modules.conv": ("Conv1d",),
    "torch.nn.modules.rnn": ("RNN", "LSTM", "GRU"),
}
_FIRST_SEED = 0
# Functions of torch.nn.utils.clip_grad that return the norm of gradients.
_NORMS = ("clip_grad_norm_", "get_total_norm")
# The numbers of the steps of each optimizer, and its own learning rates.
_steps: dict[int, int] = {}
_rates: dict[int, list[object]] = {}


def patches(job: Job) -> Mapping[str, Patch]:
    """The patches by module; none if the run is not controlled."""
    if not job.controlled:
        return {}
    return {
        "numpy": lambda numpy: numpy.random.seed(_FIRST_SEED),
        "torch": lambda torch: torch.manual_seed(_FIRST_SEED),
        "torch.nn.functional": _without_dropout,
        "torch.amp.autocast_mode": _patch_autocast,
        "torch.nn.utils.clip_grad": _patch_clipping,
        **dict.fromkeys(_MIXING, _patch_mixing),
        "torch.optim.optimizer": _patch_optimizer,
    }


def begin(job: Job) -> None:
    """Seed Python's generator with the fixed first seed."""
    if job.controlled:
        random.seed(_FIRST_SEED)


def go_on_with(seed: int) -> None:
    """Seed all generators again."""
    random.seed(seed)
    for name, begin in (("numpy", "random.seed"), ("torch", "manual_seed")):
        if name in sys.modules:
            operator.attrgetter(begin)(sys.modules[name])(seed)


def _without_dropout(functional: ModuleType) -> None:
    _record_unmasked_attention(functional)
    for name, parameter, place in _DROPS:
        wrapping.replace(functional, name, _with_zero(parameter, place))


def _with_zero(parameter: str, place: int) -> Wrapper:
    def make(original: Function) -> Function:
        def dropping_nothing(*args: object, **kwargs: object) -> object:
            if len(args) > place:
                return original(*args[:place], 0.0, *args[place + 1 :], **kwargs)
            return original(*args, **{**kwargs, parameter: 0.0})

        return dropping_nothing

    return make


def _patch_mixing(module: ModuleType) -> None:
    """Modules whose output for a row depends on the other rows of its batch, or on its padding."""

    def make(original: Function) -> Function:
        def forward(self: Module, *args: object, **kwargs: object) -> object:
            if self.training and not any(type(each).__name__ == "PackedSequence" for each in args):
                _record_once("mixes_rows")
            return original(self, *args, **kwargs)

        return forward

    for name in _MIXING[module.__name__]:
        wrapping.replace(getattr(module, name), "forward", make)


def _record_unmasked_attention(functional: ModuleType) -> None:
    """Record attention without a mask, which includes padded positions."""

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original, ("query", "key", "value", "attn_mask", "dropout_p", "is_causal"))

        def attention(*args: object, **kwargs: object) -> object:
            if pick(args, kwargs, "attn_mask") is None and not pick(args, kwargs, "is_causal"):
                _record_once("mixes_rows")
            return original(*args, **kwargs)

        return attention

    wrapping.replace(functional, "scaled_dot_product_attention", make)


def _patch_autocast(module: ModuleType) -> None:
    def make(original: Function) -> Function:
        def enter(self: autocast) -> object:
            if self._enabled:
                _record_once("low_precision")
            return original(self)

        return enter

    wrapping.replace(module.autocast, "__enter__", make)


def _patch_clipping(module: ModuleType) -> None:
    """Record the norms of gradients that are returned to the script."""

    def make(original: Function) -> Function:
        def norm(*args: object, **kwargs: object) -> object:
            found = original(*args, **kwargs)
            with contextlib.suppress(Exception):
                trace.write("norm", value=float(cast("Tensor", found)))
            return found

        return norm

    for name in _NORMS:
        wrapping.replace(module, name, make)


@cache
def _record_once(kind: str) -> None:
    trace.write(kind)


def _patch_optimizer(module: ModuleType) -> None:
    module.register_optimizer_step_pre_hook(_before_step)
    module.register_optimizer_step_post_hook(_after_step)


def _before_step(optimizer: Optimizer, args: object, kwargs: object) -> None:
    """Set the learning rate to 0, so that no gradient moves a weight, and no weight decays."""
    _rates[id(optimizer)] = [group.get("lr") for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = group["lr"] * 0


def _after_step(optimizer: Optimizer, args: object, kwargs: object) -> None:
    for group, rate in zip(optimizer.param_groups, _rates.pop(id(optimizer), ()), strict=False):
        if "lr" in group:
            group["lr"] = rate
    if not is_within_another(optimizer):
        with contextlib.suppress(Exception):
            _move(optimizer)


def _move(optimizer: Optimizer) -> None:
    """Move the weights by a step that does not depend on data."""
    import torch

    number = _steps[id(optimizer)] = _steps.get(id(optimizer), 0) + 1
    trained = parameters_of(optimizer)
    if any(each.element_size() < 4 for each in trained):
        _record_once("low_precision")
    if any(map(is_sharded, trained)) or sum(each.numel() for each in trained) > MAX_WEIGHTS:
        return
    generator = torch.Generator().manual_seed(number)
    with torch.no_grad():
        for each in trained:
            each.add_(_step(each, generator), alpha=_FIRST_STEP / number)


def _step(weights: Tensor, generator: Generator) -> Tensor:
    import torch

    size = float(weights.detach().abs().mean()) or 1.0
    return (torch.randn(weights.shape, generator=generator) * size).to(weights)
