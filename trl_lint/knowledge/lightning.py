"""What Lightning runs on every process of a distributed run. Read from its documentation.

Its `Trainer` starts one process per device, each with the script's module and callbacks. `prepare_data` runs on one of
them, and so does what `rank_zero_only` decorates. Testing and predicting are documented for one device.
"""

from __future__ import annotations

from collections.abc import Iterable

_PACKAGES = ("lightning", "lightning.pytorch", "pytorch_lightning")
_STEPS = ("training_step", "validation_step")
_EPOCH_ENDS = ("training_epoch_end", "validation_epoch_end")
_EVENTS = (
    "fit_start", "fit_end", "sanity_check_start", "sanity_check_end", "train_batch_end", "train_batch_start",
    "train_end", "train_epoch_end", "train_epoch_start", "train_start", "validation_batch_end",
    "validation_batch_start", "validation_end", "validation_epoch_end", "validation_epoch_start", "validation_start",
)  # fmt: skip
_HOOKS = frozenset((*_STEPS, *_EPOCH_ENDS, *(f"on_{event}" for event in _EVENTS)))
_RUN = frozenset(
    name
    for package in _PACKAGES
    for name in (f"{package}.LightningModule", f"{package}.Callback", f"{package}.callbacks.Callback")
)


def hooks_of(bases: Iterable[str]) -> frozenset[str]:
    """The methods of a class with these bases that Lightning calls on every process."""
    return _HOOKS if not _RUN.isdisjoint(bases) else frozenset()
