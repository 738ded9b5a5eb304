"""Which tensors have a dimension whose size depends on this rank's data, and which functions pad.

Read from transformers 5.24.0 (data/data_collator.py, tokenization_utils_base.py, generation/utils.py), trl 0.7 to
1.16 (the collators of its trainers) and the documentation of torch 2.13.
"""

from __future__ import annotations

# The layout of a table is by hand: one or two lines per row.
# fmt: off

# --- models -------------------------------------------------------------------------------------------------

# Arguments of a forward that only models of tokens take.
TOKEN_ARGUMENTS = frozenset({"decoder_input_ids", "logits_to_keep", "num_logits_to_keep"})
# Trainers whose model returns one row of logits per token.
TOKEN_TRAINERS = frozenset(
    f"trl.{name}" for name in (
        "BCOTrainer", "CPOTrainer", "DPOTrainer", "GKDTrainer", "GRPOTrainer", "IterativeSFTTrainer", "KTOTrainer",
        "NashMDTrainer", "ORPOTrainer", "OnlineDPOTrainer", "PPOTrainer", "RLOOTrainer", "SFTTrainer", "XPOTrainer",
    )
) | {"transformers.Seq2SeqTrainer"}
# … and trainers whose model returns one per sample.
SAMPLE_TRAINERS = frozenset({"trl.RewardTrainer"})
# Functions and methods that return tokens up to the longest completion of this rank.
GENERATES = frozenset({"generate", "batch_generate"})

# --- tensors ------------------------------------------------------------------------------------------------

# Functions whose result has the dimensions of an argument: its position and name.
LIKE_ARGUMENT: dict[str, tuple[int, str]] = {
    "trl.trainer.utils.selective_log_softmax": (1, "index"),
}
# Functions that pad a list of sequences to the longest of them: the parameter that holds the list.
PADDING: dict[str, tuple[int, str]] = {
    "torch.nn.utils.rnn.pad_sequence": (0, "sequences"),
    "trl.trainer.utils.pad": (0, "tensors"),
}
