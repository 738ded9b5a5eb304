"""A key that is searched in a literal list takes one branch; in any other list, either."""

from transformers import Trainer


class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, others, return_outputs=False, num_items_in_batch=None):
        parts = {"loss": model(**inputs).loss, "weight": 0.5}
        for key, part in parts.items():
            if key in ["weight", "scale"]:
                reveal_rank(part)  # revealed: same
            else:
                reveal_rank(part)  # revealed: local(data)
            if key not in ("weight",):
                reveal_rank(part)  # revealed: local(data)
            if key in others:
                reveal_rank(part)  # revealed: same | local(data)
        return parts["loss"]
