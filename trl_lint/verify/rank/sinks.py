"""Log sinks: what each rank hands to a log, whether or not the library then writes it on this rank.

A sink that calls another one (Trainer's log hands on to the trackers) is told of once.

Sources: transformers/trainer.py `Trainer.log`; accelerate/accelerator.py `Accelerator.log`; wandb/sdk/wandb_run.py
`Run.log` and `wandb.log`; trackio/__init__.py `log`, trackio/run.py `Run.log`; mlflow/tracking/fluent.py `log_metric`,
`log_metrics`; torch/utils/tensorboard/writer.py and tensorboardX/writer.py `add_scalar`, `add_scalars`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import places, trace, wrapping
from .job import Job


@dataclass(frozen=True)
class Sink:
    """A function (or a method of `owner`) that takes metrics: a mapping `values`, or a `value` called `key`.

    parameters: its parameters where a decorator hides them.
    """

    module: str
    owner: str
    name: str
    values: str = ""
    key: str = ""
    value: str = ""
    parameters: tuple[str, ...] = ()


SINKS = (
    Sink("transformers.trainer", "Trainer", "log", values="logs"),
    Sink("accelerate.accelerator", "Accelerator", "log", values="values", parameters=("self", "values", "step")),
    Sink("wandb", "", "log", values="data"),
    Sink("wandb.sdk.wandb_run", "Run", "log", values="data"),
    Sink("trackio", "", "log", values="metrics"),
    Sink("trackio.run", "Run", "log", values="metrics"),
    Sink("mlflow", "", "log_metric", key="key", value="value"),
    Sink("mlflow", "", "log_metrics", values="metrics"),
    Sink("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalar", key="tag", value="scalar_value"),
    Sink("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalars", key="main_tag", values="tag_scalar_dict"),
    Sink("tensorboardX.writer", "SummaryWriter", "add_scalar", key="tag", value="scalar_value"),
    Sink("tensorboardX.writer", "SummaryWriter", "add_scalars", key="main_tag", values="tag_scalar_dict"),
)
_outermost = wrapping.Outermost()


def patch(job: Job, module: str) -> Callable[[Any], None]:
    """What to do with a module that has sinks, once it is imported."""

    def patch_module(imported: Any) -> None:
        for sink in SINKS:
            owner = getattr(imported, sink.owner, None) if sink.owner else imported
            if sink.module == module and owner is not None:
                wrapping.replace(owner, sink.name, _recorded(job, sink))

    return patch_module


def _recorded(job: Job, sink: Sink) -> Callable[..., Any]:
    name = ".".join(filter(None, (sink.owner or sink.module, sink.name)))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        pick = wrapping.Arguments(original, sink.parameters)

        def recorded(*args: Any, **kwargs: Any) -> Any:
            with _outermost as is_outermost:
                if is_outermost and trace.current is not None:
                    values = dict(_values(sink, lambda name: pick(args, kwargs, name)))
                    trace.write("log", sink=name, values=values, at=places.here(job.root))
                return original(*args, **kwargs)

        return recorded

    return make


def _values(sink: Sink, argument: Callable[[str], Any]) -> Any:
    """The numbers among what a sink is given, by metric."""
    given = argument(sink.values) if sink.values else {"": argument(sink.value)}
    prefix = str(argument(sink.key) or "") if sink.key else ""
    for key, value in given.items() if isinstance(given, Mapping) else ():
        number = as_number(value)
        if number is not None:
            yield "/".join(filter(None, (prefix, str(key)))), number


def as_number(value: Any) -> float | None:
    """A Python number, a tensor or an array of one element as a number; None for anything else."""
    if isinstance(value, str) or (hasattr(value, "numel") and value.numel() != 1):
        return None
    if getattr(value, "size", 1) != 1 and not callable(getattr(value, "size", None)):
        return None
    with contextlib.suppress(Exception):
        return float(value.item() if hasattr(value, "item") else value)
    return None
