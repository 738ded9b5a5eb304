"""A switch that a trainer adds to a hook is off if the library calls the hook."""

from trl import DPOTrainer


class OwnTrainer(DPOTrainer):
    def concatenated_forward(self, model, batch, reference=False):
        if reference:
            print(model.config)
        else:
            print(model.dtype)  # expect: TRL002
        return super().concatenated_forward(model, batch)

    def compare(self, batch):
        return self.concatenated_forward(self.model, batch, reference=True)
