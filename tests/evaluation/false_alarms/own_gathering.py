# Custom helpers gather the parameters.
import contextlib

import deepspeed
from trl import GRPOConfig, GRPOTrainer

# Other runs of the project are sharded.
ARGUMENTS = GRPOConfig("out", fsdp="full_shard")


@contextlib.contextmanager
def whole(parameters, enabled=True):
    with deepspeed.zero.GatheredParameters(parameters, enabled=enabled):
        yield


class Gathering(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        bare = self.accelerator.unwrap_model(model)
        hidden = model(**inputs).last_hidden_state
        with whole([bare.lm_head.weight, bare.lm_head.bias]):
            return self.criterion(hidden, bare.lm_head.weight)


class ByMethod(GRPOTrainer):
    def gathered(self, parameters):
        return deepspeed.zero.GatheredParameters(parameters, modifier_rank=None)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        bare = self.accelerator.unwrap_model(model)
        hidden = model(**inputs).last_hidden_state
        with self.gathered([bare.lm_head.weight]):
            loss = self.criterion(hidden, bare.lm_head.weight)
        return loss


class Left(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        bare = self.accelerator.unwrap_model(model)
        hidden = model(**inputs).last_hidden_state
        with contextlib.nullcontext():
            return self.criterion(hidden, bare.lm_head.weight)  # expect: TRL013
