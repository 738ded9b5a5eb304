"""Methods that a library calls only where somebody asks for that: in most programs an override never runs.

Read from transformers 4.36 to 5.23 (trainer.py::Trainer): `create_model_card` is called by `push_to_hub` alone, which
is called at a save where `push_to_hub` is set, and by programs. trl's own trainers call it at each checkpoint.
"""

from __future__ import annotations

from typing import NamedTuple


class Asking(NamedTuple):
    """What has a library call a method.

    classes: those whose own methods call it nowhere else. by: the name of the method that calls it, and of the setting
    that has the library do so by itself.
    """

    classes: frozenset[str]
    by: str


ONLY_ASKED_FOR: dict[str, Asking] = {
    "create_model_card": Asking(frozenset({"transformers.Seq2SeqTrainer", "transformers.Trainer"}), "push_to_hub"),
}
# What lets whoever starts a program choose all settings of a trainer.
READS_SETTINGS = frozenset({"HfArgumentParser", "TrlParser"})
