# A library starts the tracker's run on the main process only: on the others `wandb.run` is None, and has no attributes.
import wandb
from accelerate import Accelerator
from lightning.pytorch import LightningModule
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from transformers import TrainerCallback


class Notes(Callback):
    def on_fit_start(self, trainer, pl_module):
        self.run_id = wandb.run.id  # expect: TRL008

    def on_fit_end(self, trainer, pl_module):
        wandb.run.summary["best"] = 1.0  # expect: TRL008
        wandb.config.done = True  # expect: TRL008
        self.config = wandb.config
        self.name = getattr(wandb.run, "name", None)

    def on_load_checkpoint(self, trainer, pl_module, checkpoint):
        if "run" in checkpoint:
            print(wandb.run.id)  # expect: TRL008

    def on_train_start(self, trainer, pl_module):
        if wandb.run is not None:
            self.run_id = wandb.run.id

    def on_train_end(self, trainer, pl_module):
        self.run_id = wandb.run.id if wandb.run else None

    def on_validation_start(self, trainer, pl_module):
        try:
            self.run_id = wandb.run.id
        except AttributeError:
            self.run_id = None

    def on_validation_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            self.run_id = wandb.run.id

    @rank_zero_only
    def on_train_epoch_end(self, trainer, pl_module):
        wandb.run.name = "done"


class Module(LightningModule):
    def validation_step(self, batch, batch_idx):
        if self.global_rank == 0:
            print(wandb.run.dir)
        print(wandb.run.dir)  # expect: TRL008


class Renamed(TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            wandb.run.name = "ours"
        wandb.run.name = "ours"  # expect: TRL008


def train(size):
    accelerator = Accelerator()
    if accelerator.is_main_process:
        wandb.init(project="ours")
        wandb.config.size = size
    wandb.config.size = size  # expect: TRL008
