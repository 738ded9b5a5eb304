# Before 1.8, Lightning called other hooks, too; what its module has, it wraps as a part of that.
import pytorch_lightning as pl
import torch
from lightning.pytorch.callbacks import Callback
from pytorch_lightning.callbacks.progress import ProgressBarBase
from pytorch_lightning.utilities import rank_zero_only


class Bar(ProgressBarBase):
    def __init__(self, every, folder):
        super().__init__()
        self.every = every
        self.folder = folder
        self.steps = 0

    def on_batch_end(self, trainer, pl_module):
        self.steps += 1
        if self.steps % self.every == 0:
            self.save(pl_module)

    def save(self, pl_module):
        pl_module.model.save_pretrained("last")  # expect: TRL008
        torch.save(pl_module.model.config, "config.pt")  # expect: TRL008
        pl_module.best().save_pretrained("best")

    @rank_zero_only
    def on_epoch_end(self, trainer, pl_module):
        pl_module.model.save_pretrained("epoch")

    def on_epoch_start(self, trainer, pl_module):
        if trainer.is_global_zero:
            pl_module.model.save_pretrained("first")


class NewBar(Callback):
    def on_batch_end(self, trainer, pl_module):
        pl_module.model.save_pretrained("last")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module.net.encoder.save_pretrained("encoder")  # expect: TRL008


class Module(pl.LightningModule):
    def on_epoch_end(self):
        torch.save(self.state_dict(), "module.pt")  # expect: TRL008
