"""Which tensors have a dimension that this rank's own data decide on, and what functions do to dimensions.

Read from transformers 5.23.0 (data/data_collator.py, tokenization_utils_base.py, generation/utils.py), trl 0.7 to
1.16 (the collators of its trainers) and the documentation of torch 2.13.
"""

from __future__ import annotations

# The layout of a table is by hand: one or two lines per row.
# fmt: off

# --- models -------------------------------------------------------------------------------------------------

# Arguments of a forward that only models of tokens take.
TOKEN_ARGUMENTS = frozenset({"decoder_input_ids", "logits_to_keep", "num_logits_to_keep"})
# Trainers whose model gives one row of logits per token.
TOKEN_TRAINERS = frozenset(
    f"trl.{name}" for name in (
        "BCOTrainer", "CPOTrainer", "DPOTrainer", "GKDTrainer", "GRPOTrainer", "IterativeSFTTrainer", "KTOTrainer",
        "NashMDTrainer", "ORPOTrainer", "OnlineDPOTrainer", "PPOTrainer", "RLOOTrainer", "SFTTrainer", "XPOTrainer",
    )
) | {"transformers.Seq2SeqTrainer"}
# … and trainers whose model gives one per sample.
SAMPLE_TRAINERS = frozenset({"trl.RewardTrainer"})
# Functions and methods that give tokens up to the longest completion of this rank.
GENERATES = frozenset({"generate", "batch_generate"})

# --- tensors ------------------------------------------------------------------------------------------------

# Methods (and functions) of one tensor that keep its dimensions.
KEEP = frozenset({
    "abs", "bfloat16", "bitwise_and", "bitwise_not", "bitwise_or", "bool", "byte", "clamp", "clamp_max", "clamp_min",
    "clip", "clone", "contiguous", "cpu", "cuda", "cumprod", "cumsum", "data", "detach", "double", "exp", "expm1",
    "flip", "float", "floor", "half", "int", "isfinite", "isinf", "isnan", "log", "log1p", "log_softmax",
    "logical_not", "logit", "logsigmoid", "long", "masked_fill", "nan_to_num", "neg", "numpy", "relu",
    "requires_grad_", "roll", "round", "short", "sigmoid", "sign", "softmax", "sqrt", "square", "tanh", "to", "tril",
    "triu", "type", "type_as", "empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like",
})
# Of two tensors: their dimensions are broadcast against each other.
BROADCAST = frozenset({
    "add", "div", "eq", "ge", "gt", "le", "logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum",
    "mul", "ne", "pow", "sub", "true_divide", "where",
})
# The length of the first dimension is how many elements the data pick.
PICKS = frozenset({"argwhere", "masked_select", "nonzero", "unique"})
# One index, or a value and an index, per what is left over when the dimension is gone.
ARG = frozenset({"argmax", "argmin"})
# Functions whose result has the dimensions of an argument: its position and name.
LIKE_ARGUMENT: dict[str, tuple[int, str]] = {
    "torch.gather": (2, "index"),
    "trl.trainer.utils.selective_log_softmax": (1, "index"),
}
# Functions that pad a list of sequences to the longest of them: the parameter that holds the list.
PADDING: dict[str, tuple[int, str]] = {
    "torch.nn.utils.rnn.pad_sequence": (0, "sequences"),
    "trl.trainer.utils.pad": (0, "tensors"),
}
