"""Log sinks: what each rank passes to a log, whether or not the library then writes it on this rank.

A sink that calls another one (Trainer's log passes values on to the trackers) is recorded only once.

Sources: transformers/trainer.py `Trainer.log`; accelerate/accelerator.py `Accelerator.log`; wandb/sdk/wandb_run.py
`Run.log` and `wandb.log`; trackio/__init__.py `log`, trackio/run.py `Run.log`; mlflow/tracking/fluent.py `log_metric`,
`log_metrics`; torch/utils/tensorboard/writer.py and tensorboardX/writer.py `add_scalar`, `add_scalars`.

Trainer's last log of a training is treated separately: some of its values are rank-local (`CLOSING`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import SupportsFloat, SupportsIndex

from . import call_stack, trace, wrapping
from .imports import Patch
from .job import Job
from .wrapping import Function, Wrapper


@dataclass(frozen=True)
class LogSink:
    """A function (or a method of `owner`) that takes metrics: a mapping `values`, or a `value` called `key`.

    parameters: its parameters, if a decorator hides them.
    """

    module: str
    owner: str
    name: str
    values: str = ""
    key: str = ""
    value: str = ""
    parameters: tuple[str, ...] = ()


SINKS = (
    LogSink("transformers.trainer", "Trainer", "log", values="logs"),
    LogSink("accelerate.accelerator", "Accelerator", "log", values="values", parameters=("self", "values", "step")),
    LogSink("wandb", "", "log", values="data"),
    LogSink("wandb.sdk.wandb_run", "Run", "log", values="data"),
    LogSink("trackio", "", "log", values="metrics"),
    LogSink("trackio.run", "Run", "log", values="metrics"),
    LogSink("mlflow", "", "log_metric", key="key", value="value"),
    LogSink("mlflow", "", "log_metrics", values="metrics"),
    LogSink("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalar", key="tag", value="scalar_value"),
    LogSink("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalars", key="main_tag", values="tag_scalar_dict"),
    LogSink("tensorboardX.writer", "SummaryWriter", "add_scalar", key="tag", value="scalar_value"),
    LogSink("tensorboardX.writer", "SummaryWriter", "add_scalars", key="main_tag", values="tag_scalar_dict"),
)
# What Trainer itself logs at the end of `train` and computes from this rank's share: to the losses gathered for the
# logs it adds its own since the last one. `total_flos`, which it logs as well, is summed over the ranks. Sources:
# transformers/trainer.py `_inner_training_loop` (4.40.0, 4.51.3), `_finalize_training` (5.5.0, 5.24.0).
CLOSING = ("train_loss",)
# The function that creates the mapping that Trainer then fills and logs last.
_MAKES_CLOSING = ("transformers.trainer", "speed_metrics", "train")
_outermost = wrapping.Outermost()
# That mapping, once it is created. It is filled later.
_closing: Mapping[str, object] = {}


def patch(job: Job, module: str) -> Patch:
    """The patch of a module that has sinks."""

    def patch_module(imported: ModuleType) -> None:
        for sink in SINKS:
            owner = getattr(imported, sink.owner, None) if sink.owner else imported
            if sink.module == module and owner is not None:
                wrapping.replace(owner, sink.name, _recorded(job, sink))
        if module == _MAKES_CLOSING[0]:
            wrapping.replace(imported, _MAKES_CLOSING[1], _remembered)

    return patch_module


def _remembered(original: Function) -> Function:
    """Remember the mapping that becomes Trainer's last log."""

    def recording(*args: object, **kwargs: object) -> object:
        global _closing
        metrics = original(*args, **kwargs)
        if _MAKES_CLOSING[2] in (*args[:1], kwargs.get("split")) and isinstance(metrics, Mapping):
            _closing = metrics
        return metrics

    return recording


def _of_one_rank(name: str, values: object) -> list[str]:
    """The metrics of a log that Trainer computed from one rank's share: the same objects, not others of that name."""
    if name != "Trainer.log" or not isinstance(values, Mapping):
        return []
    return [each for each in CLOSING if each in values and values[each] is _closing.get(each)]


def _recorded(job: Job, sink: LogSink) -> Wrapper:
    name = ".".join(filter(None, (sink.owner or sink.module, sink.name)))

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original, sink.parameters)

        def recorded(*args: object, **kwargs: object) -> object:
            with _outermost as is_outermost:
                if is_outermost and trace.current is not None:
                    values = dict(_values(sink, lambda name: pick(args, kwargs, name)))
                    own = _of_one_rank(name, pick(args, kwargs, sink.values)) if sink.values else []
                    trace.write("log", sink=name, values=values, at=call_stack.current(job.user_files), of_one_rank=own)
                return original(*args, **kwargs)

        return recorded

    return make


def _values(sink: LogSink, argument: Callable[[str], object]) -> Iterator[tuple[str, float]]:
    """The numbers among the values passed to a sink, by metric."""
    given = argument(sink.values) if sink.values else {"": argument(sink.value)}
    prefix = str(argument(sink.key) or "") if sink.key else ""
    for key, value in given.items() if isinstance(given, Mapping) else ():
        number = as_number(value)
        if number is not None:
            yield "/".join(filter(None, (prefix, str(key)))), number


def as_number(value: object) -> float | None:
    """A Python number, a tensor or an array of one element as a number; None for anything else."""
    if isinstance(value, str) or (hasattr(value, "numel") and value.numel() != 1):
        return None
    if getattr(value, "size", 1) != 1 and not callable(getattr(value, "size", None)):
        return None
    with contextlib.suppress(Exception):
        number = value.item() if hasattr(value, "item") else value
        return float(number) if isinstance(number, (SupportsFloat, SupportsIndex)) else None
    return None
