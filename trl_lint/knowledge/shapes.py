"""Which tensors have a dimension that this rank's own data decide on, and which functions pad.

Read from transformers 5.23.0 (data/data_collator.py, tokenization_utils_base.py, generation/utils.py), trl 0.7 to
1.16 (the collators of its trainers) and the documentation of torch 2.13.
"""

from __future__ import annotations

# The layout of a table is by hand: one or two lines per row.
# fmt: off

# --- batches ------------------------------------------------------------------------------------------------

# Fields of a batch, by the last words of their names: one row per sample, padded to the longest of this rank.
PADDED_FIELDS = (
    "input_ids", "attention_mask", "token_type_ids", "position_ids", "completion_ids", "completion_mask",
    "prompt_ids", "prompt_mask", "decoder_attention_mask", "loss_mask", "assistant_masks",
)
# Fields that may be labels of tokens as well as one per sample: those of pairs and completions are of tokens.
PADDED_LABELS = (
    "chosen_labels", "rejected_labels", "completion_labels", "concatenated_labels", "KL_labels", "lm_labels",
)
# A file that says one of these may pad all batches to one length, or cut all samples to one.
FIXED_LENGTHS = (
    rb"""padding["']?\s*[=:]\s*["']max_length["']|PaddingStrategy\.MAX_LENGTH|pad_to_max_length|\bgroup_texts\b"""
    rb"""|\bblock_size\b|default_data_collator|DefaultDataCollator|ConstantLengthDataset\("""
)

# --- models -------------------------------------------------------------------------------------------------

# In a file: names of classes of models whose logits have one row per token, and of those with one per sample.
TOKEN_MODELS = (
    rb"For(?:CausalLM|Seq2SeqLM|ConditionalGeneration|TokenClassification|MaskedLM|Vision2Seq|ImageTextToText)\b"
    rb"|LMHeadModel|WithValueHead"
)
SAMPLE_MODELS = rb"For(?:SequenceClassification|MultipleChoice|ImageClassification|AudioClassification)\b"
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

# Functions whose result has the dimensions of an argument: its position and name.
LIKE_ARGUMENT: dict[str, tuple[int, str]] = {
    "trl.trainer.utils.selective_log_softmax": (1, "index"),
}
# Functions that pad a list of sequences to the longest of them: the parameter that holds the list.
PADDING: dict[str, tuple[int, str]] = {
    "torch.nn.utils.rnn.pad_sequence": (0, "sequences"),
    "trl.trainer.utils.pad": (0, "tensors"),
}
