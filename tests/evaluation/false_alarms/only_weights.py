# The hooks matter for a forward. A block that only reads the gathered weights runs none.
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation


class Exporting(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        with unwrap_model_for_generation(self.model, self.accelerator) as unwrapped:
            weights = unwrapped.state_dict()
        return inputs, weights


class Merging(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        with unwrap_model_for_generation(self.model, self.accelerator) as unwrapped:
            unwrapped.merge_adapter()
            weights = unwrapped.state_dict()
            unwrapped.unmerge_adapter()
        return inputs, weights


class Generating(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        with unwrap_model_for_generation(self.model, self.accelerator) as unwrapped:  # expect: TRL010
            weights = unwrapped.state_dict()
            return weights, unwrapped.generate(**inputs)
