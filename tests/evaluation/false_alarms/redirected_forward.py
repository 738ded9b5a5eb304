# The wrapper's own forward is redirected to a function: its hooks run around it, with gathered parameters.
from trl import GRPOConfig, GRPOTrainer

# Other runs of the project are sharded.
ARGUMENTS = GRPOConfig("out", fsdp="full_shard")


class Fused(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        unwrapped = self.accelerator.unwrap_model(model)
        return self._forward_redirection(model, unwrapped, lambda: self.fused(unwrapped, inputs))

    def fused(self, unwrapped, inputs):
        hidden = unwrapped.model(**inputs).last_hidden_state
        return self.liger(hidden, unwrapped.lm_head.weight, inputs["labels"])


class Named(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        bare = self.accelerator.unwrap_model(model)

        def loss_of(module, batch):
            out = module(**batch)
            return self.criterion(out.logits, module.lm_head.weight)

        return self._forward_redirection(model, bare, loss_of, bare, inputs)


class Past(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        bare = self.accelerator.unwrap_model(model)
        hidden = bare(**inputs).last_hidden_state  # expect: TRL009
        return self.criterion(hidden, bare.lm_head.weight)  # expect: TRL013


class _ForwardRedirection:
    """As TRL has it."""

    def __call__(self, wrapper, module, method, *args, **kwargs):
        module.forward = method
        return wrapper(*args, **kwargs)


class Own(GRPOTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.redirection = _ForwardRedirection()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        bare = self.accelerator.unwrap_model(model)
        if self.fused:
            return self.redirection(model, bare, lambda *_, **__: self.loss_of(bare, inputs), **inputs)
        return self.other_loss(bare, inputs)

    def loss_of(self, bare, inputs):
        return self.criterion(bare.model(**inputs).last_hidden_state)

    def other_loss(self, bare, inputs):
        return self.criterion(bare.model(**inputs).last_hidden_state)  # expect: TRL009
