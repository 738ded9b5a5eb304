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


class AddsOne(Trainer):
    """Any of the keys that it does not name itself may be in the list."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        inputs["use_cache"] = False
        passed = {key: part for key, part in inputs.items() if key in ("input_ids", "use_cache")}
        reveal_rank(passed["input_ids"])  # revealed: shard
        reveal_rank(passed["use_cache"])  # revealed: same
        reveal_rank(model(**passed).logits)  # revealed: shard
        own = {key: part for key, part in inputs.items() if key not in ("input_ids", "labels")}
        reveal_rank(own["attention_mask"])  # revealed: shard
        reveal_rank(own["use_cache"])  # revealed: same
        others = {key: part for key, part in {"a": 1, "b": 2}.items() if key in ("b",)}
        reveal_rank(model(**others).logits)  # revealed: same
        return model(**own).loss
