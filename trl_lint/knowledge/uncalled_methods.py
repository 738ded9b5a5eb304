"""Methods that a library calls only on request: in most programs an override never runs.

Read from transformers 4.36 to 5.24 (trainer.py::Trainer): `create_model_card` is called by `push_to_hub` alone, which
is called at a save if `push_to_hub` is set, and by programs. trl's own trainers call it at each checkpoint.
"""

from __future__ import annotations

from typing import NamedTuple


class Asking(NamedTuple):
    """What makes a library call a method.

    classes: those whose own methods do not call it otherwise. by: the name of the method that calls it, and of the
    setting with which the library calls that method itself.
    """

    classes: frozenset[str]
    by: str


ONLY_ASKED_FOR: dict[str, Asking] = {
    "create_model_card": Asking(frozenset({"transformers.Seq2SeqTrainer", "transformers.Trainer"}), "push_to_hub"),
}
# Classes by which all settings of a trainer can be chosen on the command line.
READS_SETTINGS = frozenset({"HfArgumentParser", "TrlParser"})
