# Whether a trainer gets rows from a cache is the same on all ranks: no batch is empty, and all rows have the same keys.
from accelerate.utils import gather_object
from trl import GRPOTrainer


class Cached(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        if isinstance(inputs, list) and len(inputs) > 0 and "cached_text" in inputs[0]:
            return {"prompts": [row["cached_text"] for row in inputs]}
        return {"prompts": gather_object([row["prompt"] for row in inputs])}


class Short(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        if len(inputs) > 0 and len(inputs[0]["prompt"]) > 100:
            return {"prompts": []}  # expect: TRL006
        return {"prompts": gather_object([row["prompt"] for row in inputs])}


class Kept(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        inputs = [row for row in inputs if row["score"] > 0.5]
        if len(inputs) == 0 and self.model.training:
            return {"prompts": []}  # expect: TRL006
        return {"prompts": gather_object([row["prompt"] for row in inputs])}
