"""The functions of TRL that pad a list of sequences, or that have the shape of an argument, as users call them."""

from trl import GRPOTrainer
from trl.trainer.utils import pad, selective_log_softmax


class Padded(GRPOTrainer):
    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        mask = output["completion_mask"].bool()
        rows = [row[kept] for row, kept in zip(output["completion_ids"], mask)]
        reveal_shape(pad(rows, padding_value=0))  # revealed: (same, ragged)
        reveal_shape(pad([row.sum() for row in rows]))  # revealed: unknown
        reveal_shape(selective_log_softmax(output["logits"], output["completion_ids"]))  # revealed: (same, ragged)
        return output
