"""Flags that tell a Trainer what to do next, which it reads on each rank for itself.

transformers: `Trainer._inner_training_loop` leaves its loops by the first two; `_maybe_log_save_evaluate` sums the loss
and the number of operations over all ranks (trainer.py). Lightning: `FitLoop.done` and `_TrainingEpochLoop.done`; the
callbacks that come with it let the ranks agree first (`EarlyStopping` by `reduce_boolean_decision`, `Timer` by
`broadcast`).
"""

from __future__ import annotations

from collections.abc import Mapping

from trl_lint.knowledge.lightning import TRAINERS

_LEAVE = "leave the training"

# By the class of the object that has them: what the ranks do that set one.
FLAGS: dict[str, Mapping[str, str]] = {
    "transformers.TrainerControl": {
        "should_epoch_stop": "leave the epoch",
        "should_training_stop": _LEAVE,
        "should_evaluate": "evaluate",
        "should_log": "log the mean loss of all",
        "should_save": "save a checkpoint",
    },
    **{name: {"should_stop": _LEAVE} for name in sorted(TRAINERS)},
}
NAMES = frozenset(name for flags in FLAGS.values() for name in flags)
# Those with which ranks leave.
STOPS = frozenset({"should_epoch_stop", "should_stop", "should_training_stop"})
