"""The rows that a mask selects from a model's output, which must be a tensor: their number depends on the mask."""

from transformers import Trainer


class Masked(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        features = model(inputs["pixel_values"])
        good = inputs["quality"] > 0.5
        reveal_shape(features[good].contiguous())  # revealed: (ragged, ...)
        reveal_shape(features.detach()[~good])  # revealed: (ragged, ...)
        reveal_shape(features["hidden"])  # revealed: unknown
        reveal_shape(features[0])  # revealed: unknown
        return features[good].sum()
