# Without gathering there are no hooks to remove: the engine and its module have the same effect.
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation


class Exporting(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        with unwrap_model_for_generation(
            self.model,
            self.accelerator,
            gather_deepspeed3_params=False,
        ) as unwrapped:
            weights = unwrapped.state_dict()
        return inputs, weights


class Generating(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        with unwrap_model_for_generation(self.model, self.accelerator) as unwrapped:  # expect: TRL010
            return unwrapped.generate(**inputs)
