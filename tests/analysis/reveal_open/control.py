"""Temporal divergence: what a loop with this rank's own trip count counts is this rank's own."""

from transformers import Trainer


class Control(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        count = 0
        for _ in inputs["x"]:
            count += 1
        reveal_rank(count)  # revealed: local(data)
        return count
