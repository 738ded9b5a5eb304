"""Small programs that train with a trainer of trl, on one process or more, and their known failures on each release.

    python evaluation/subjects/dpo.py [--steps N] [--batch N] [--rows N] [--rate X] [--noise PART]
    python -m torch.distributed.run --standalone --nproc-per-node 2 evaluation/subjects/dpo.py

They need the interpreter of an environment (`environments.py`) and run unchanged on all releases there that have the
trainer; those of `NEWEST` are for the newest one. Nothing is fetched, saved or sent, and two runs give the same
numbers. A program without a row in `FAILURES` trains to the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# The trainer of each program, or the script of trl that makes one.
SUBJECTS = {
    "a2po": "A2POTrainer",
    "callback": "WeaveCallback",
    "cpo": "CPOTrainer",
    "cpo_table": "CPOTrainer",
    "dpo": "DPOTrainer",
    "online_dpo": "OnlineDPOTrainer",
    "iw_opd": "IWOPDTrainer",
    "kto": "KTOTrainer",
    "orpo": "ORPOTrainer",
    "orpo_table": "ORPOTrainer",
    "reward": "RewardTrainer",
    "sdft": "SDFTTrainer",
    "sdpo": "SDPOTrainer",
    "sft": "SFTTrainer",
    "sft_split": "sft",
    "tpo": "TPOTrainer",
    "trainer": "Trainer",
}

# The trainers of trl 1.16.0 with bugs that are not fixed yet; on earlier releases these were never run.
NEWEST = ("a2po", "callback", "cpo_table", "iw_opd", "kto", "orpo_table", "reward", "sdft", "sdpo", "sft_split", "tpo")


@dataclass(frozen=True)
class Failure:
    """A program that does not train on a release: on how many processes, and how its traceback ends."""

    subject: str
    release: str
    processes: int
    place: str
    error: str


_NO_CONFIG = "AttributeError: 'DistributedDataParallel' object has no attribute 'config'"
# transformers 4.51 and later pass the learning rate to a method that this release overrides without that parameter.
_LEARNING_RATE = (
    "TypeError: OnlineDPOTrainer._maybe_log_save_evaluate() got an unexpected keyword argument 'learning_rate'"
)

# fmt: off
FAILURES = (
    Failure("online_dpo", "0.14.0", 2, "trl/trainer/online_dpo_trainer.py:473", _NO_CONFIG),
    Failure("online_dpo", "0.16.0", 1, "transformers/trainer.py:2627", _LEARNING_RATE),
    Failure("online_dpo", "0.16.0", 2, "trl/trainer/online_dpo_trainer.py:473", _NO_CONFIG),
    Failure("online_dpo", "0.16.1", 2, "trl/trainer/online_dpo_trainer.py:473", _NO_CONFIG),
)
# fmt: on


def path_of(subject: str) -> Path:
    """The program.

    Raises:
        KeyError: `SUBJECTS` has no such subject.
    """
    if subject not in SUBJECTS:
        raise KeyError(subject)
    return Path(__file__).parent / f"{subject}.py"


def failure_of(subject: str, release: str, processes: int) -> Failure | None:
    """How the program fails on this release, on one process (without a launcher) or on two; None if it trains."""
    wanted = (subject, release, processes)
    return next((row for row in FAILURES if (row.subject, row.release, row.processes) == wanted), None)
