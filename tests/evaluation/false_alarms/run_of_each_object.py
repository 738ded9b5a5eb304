# An object that has started a run on all ranks when it was made logs to a run of its own on each: the start is what has
# to be fixed. But not one that has started it on the first rank only.
import wandb
from transformers import Trainer


class Probed(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        wandb.init(project="probes")  # expect: TRL008

    def train(self):
        for step, batch in enumerate(self.train_dataset):
            self.training_step(self.model, batch)
            wandb.log({"step": step})


class ProbedByFirst(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.is_world_process_zero():
            wandb.init(project="probes")

    def train(self):
        for step, batch in enumerate(self.train_dataset):
            self.training_step(self.model, batch)
            wandb.log({"step": step})  # expect: TRL008
