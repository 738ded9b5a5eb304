"""Functions and classes that make a learning-rate schedule of a number of steps, with the parameters that say how many.

`Accelerator.prepare` returns an AcceleratedScheduler. Each call of its `step` steps the schedule once for each process,
unless the Accelerator is created with one of `SETTINGS`.
Source: accelerate/scheduler.py `AcceleratedScheduler.step` (0.12 to 1.15).
"""

from __future__ import annotations

from typing import NamedTuple

from trl_lint.knowledge.schema import Parameter


class ScheduleRow(NamedTuple):
    """A function or class that makes a schedule.

    source: where it was read. since: the release of its library that has it. length: the number of steps. warmup: those
    of the warm-up. kind: the parameter for the name of a schedule.
    """

    source: str
    since: str
    length: Parameter
    warmup: Parameter | None = None
    kind: Parameter | None = None


_OPTIMIZATION = "transformers/optimization.py"
_DIFFUSERS = "diffusers/optimization.py"
_TORCH = "torch/optim/lr_scheduler.py"
_WARMUP, _LENGTH = (1, "num_warmup_steps"), (2, "num_training_steps")
_NAMES = (
    "get_cosine_schedule_with_warmup",
    "get_cosine_with_hard_restarts_schedule_with_warmup",
    "get_linear_schedule_with_warmup",
    "get_polynomial_decay_schedule_with_warmup",
)
# By the library and the name, from whatever module of the library it is imported.
SCHEDULES = {
    **{("transformers", name): ScheduleRow(f"{_OPTIMIZATION}::{name}", "4.0", _LENGTH, _WARMUP) for name in _NAMES},
    **{("diffusers", name): ScheduleRow(f"{_DIFFUSERS}::{name}", "0.3", _LENGTH, _WARMUP) for name in _NAMES},
    ("transformers", "get_scheduler"): ScheduleRow(
        f"{_OPTIMIZATION}::get_scheduler", "4.2", (3, "num_training_steps"), (2, "num_warmup_steps"), (0, "name")
    ),
    # Before 0.17, which has `step_rules`, the numbers are one place to the left; keywords are the same.
    ("diffusers", "get_scheduler"): ScheduleRow(
        f"{_DIFFUSERS}::get_scheduler", "0.17", (4, "num_training_steps"), (3, "num_warmup_steps"), (0, "name")
    ),
    ("torch", "CosineAnnealingLR"): ScheduleRow(f"{_TORCH}::CosineAnnealingLR", "1.0", (1, "T_max")),
    ("torch", "LinearLR"): ScheduleRow(f"{_TORCH}::LinearLR", "1.10", (3, "total_iters")),
    ("torch", "OneCycleLR"): ScheduleRow(f"{_TORCH}::OneCycleLR", "1.2", (2, "total_steps")),
    ("torch", "PolynomialLR"): ScheduleRow(f"{_TORCH}::PolynomialLR", "1.13", (1, "total_iters")),
}
# Those of torch that mostly make a step in each epoch.
# Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
OF_EPOCHS = frozenset({
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LambdaLR", "LinearLR",
    "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "SequentialLR", "StepLR",
})  # fmt: skip
# Their parameter for the optimizer.
OPTIMIZER: Parameter = (0, "optimizer")
# The schedule without a warm-up and without an end.
CONSTANT = "constant"
# Settings of an Accelerator with which a prepared scheduler makes one step at a time.
SETTINGS = frozenset({"split_batches", "step_scheduler_with_optimizer"})
# The number of batches over which it adds up gradients, and the truth of the last of them.
ACCUMULATION, LAST_OF_THEM = "gradient_accumulation_steps", "sync_gradients"
# The context manager in which it does so.
ACCUMULATES = "accumulate"


def schedule_of(name: str) -> ScheduleRow | None:
    """The row of a function or class by its dotted name."""
    root, _, rest = name.partition(".")
    return SCHEDULES.get((root, rest.rpartition(".")[2]))


# The schedule that goes by a metric, and the parameter of its `step` for it. Each process decides by what it gets.
# Source: torch/optim/lr_scheduler.py `ReduceLROnPlateau.step` (1.0 to 2.13).
PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"
STEP = "step"
METRIC_OF_STEP: Parameter = (0, "metrics")
# The schedules of torch, and what may send the other ranks the rate that one of them has set.
OF_TORCH = "torch.optim.lr_scheduler."
SEND_RATES = frozenset({"broadcast", "broadcast_object_list"})
# The groups of an optimizer's parameters, and the rate of each.
GROUPS, RATE = "param_groups", "lr"
# The classes whose methods all ranks call while they train.
CALL_HOOKS = ("transformers.Trainer", "transformers.TrainerCallback")
