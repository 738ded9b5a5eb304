"""Sizes taken from a tensor together: `rows, tokens = ids.shape`, and tensors created with them."""

import torch
from trl import GRPOTrainer


class Own(GRPOTrainer):
    def _generate_and_score_completions(self, inputs):
        outputs = super()._generate_and_score_completions(inputs)
        ids = outputs["completion_ids"]
        rows, tokens = ids.shape
        reveal_shape(torch.zeros((rows, tokens)))  # revealed: (same, ragged)
        reveal_shape(torch.zeros(rows, 4))  # revealed: (same, same)
        reveal_shape(torch.ones(ids.shape))  # revealed: (same, ragged)
        return outputs


def of_unknown(x):
    rows, tokens = x.shape
    reveal_shape(torch.zeros((rows, tokens)))  # revealed: (unknown, unknown)
    reveal_rank(tokens)  # revealed: unknown
