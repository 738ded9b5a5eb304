# TRL calls `compute_liger_loss` from `compute_loss` only: a class that replaces that decides which model it gets.
from trl import GRPOTrainer


class Redirection:
    """A forward of the wrapper that runs another method instead of the module's own forward."""

    def __call__(self, wrapper, module, method, *args, **kwargs):
        original = module.forward

        def inner(*inner_args, **inner_kwargs):
            module.forward = original
            return method(*inner_args, **inner_kwargs)

        module.forward = inner
        return wrapper(*args, **kwargs)


class Redirected(GRPOTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._forward_redirection = Redirection()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        bare = self.accelerator.unwrap_model(model)
        return self._forward_redirection(model, bare, self.compute_liger_loss, bare, inputs)

    def compute_liger_loss(self, bare, inputs):
        hidden = bare.model(input_ids=inputs["prompt_ids"]).last_hidden_state
        return self.liger_grpo_loss(hidden, inputs)


class Split(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return self._compute_loss(self.accelerator.unwrap_model(model), inputs)

    def _compute_loss(self, bare, inputs):
        print(bare.config.vocab_size)
        return bare(**inputs).loss  # expect: TRL009


class Passed(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return self._compute_loss(model, inputs)

    def _compute_loss(self, model, inputs):
        print(model.config.vocab_size)  # expect: TRL002
        return model(**inputs).loss


class Kept(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    def _compute_loss(self, model, inputs):
        print(model.config.vocab_size)  # expect: TRL002
        return model(**inputs).loss
