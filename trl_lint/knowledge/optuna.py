"""Optuna's trial for all ranks of one training, of which the first one talks to the study.

Read from optuna/optuna-integration, 04f7e47b (`optuna_integration/pytorch_distributed/pytorch_distributed.py`), whose
names `optuna.integration` has as well. "The methods […] are expected to be called by all workers at once": each one
broadcasts its result, and the properties of the trial. These (`number`, `params`) are those of the last call.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import SAME, Class, Function, OpaqueCall, Row, Sink, Synchronisation

_TRIAL = "TorchDistributedTrial"
_SOURCE = f"optuna_integration/pytorch_distributed/pytorch_distributed.py::{_TRIAL}"
_ASKED = (
    "should_prune", "suggest_categorical", "suggest_discrete_uniform", "suggest_float", "suggest_int",
    "suggest_loguniform", "suggest_uniform",
)  # fmt: skip
_TOLD = ("set_constraint", "set_system_attr", "set_user_attr")
_SENDS = Synchronisation("trial")
# fmt: off
ROWS: tuple[Row, ...] = tuple(
    row
    for package in ("optuna.integration", "optuna.integration.pytorch_distributed", "optuna_integration")
    for name in (f"{package}.{_TRIAL}",)
    for row in (
        Class(name=name, source=_SOURCE, synchronises=_SENDS),
        *(Function(name=f"{name}.{each}", source=f"{_SOURCE}.{each}", returns=SAME, synchronises=_SENDS)
          for each in _ASKED),
        *(OpaqueCall(name=f"{name}.{each}", source=f"{_SOURCE}.{each}", synchronises=_SENDS) for each in _TOLD),
        # What the first rank reports decides whether all go on.
        Sink(name=f"{name}.report", source=f"{_SOURCE}.report", payload=(0, "value"), form="value",
             synchronises=_SENDS),
    )
)
# fmt: on
