# What a hook of Lightning binds on the main process only: all processes run the other hooks, too.
import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from pytorch_lightning import LightningModule
from torch.utils.tensorboard import SummaryWriter


class Logged(L.Callback):
    def on_fit_start(self, trainer, pl_module):
        if trainer.is_global_zero:
            self.log = SummaryWriter("logs")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.log.add_text("x", "y")  # expect: TRL017


class Guarded(Callback):
    def on_fit_start(self, trainer, pl_module):
        if trainer.is_global_zero:
            self.log = SummaryWriter("logs")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.is_global_zero:
            self.log.add_text("x", "y")

    def on_validation_end(self, trainer, pl_module):
        if not trainer.is_global_zero:
            return
        self.log.add_text("x", "y")

    @rank_zero_only
    def on_test_end(self, trainer, pl_module):
        self.log.add_text("x", "y")

    def on_fit_end(self, trainer, pl_module):
        if hasattr(self, "log"):
            self.log.close()


class Everywhere(Callback):
    def setup(self, trainer, pl_module, stage):
        self.rows = []

    def on_fit_start(self, trainer, pl_module):
        if trainer.is_global_zero:
            self.rows = [0]

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.rows.append(batch_idx)


class Net(LightningModule):
    def on_fit_start(self):
        if self.trainer.is_global_zero:
            self.table = SummaryWriter("logs")
            self.example_input_array = torch.zeros(3)

    def training_step(self, batch, batch_idx):
        self.table.add_text("x", "y")  # expect: TRL017
        print(self.example_input_array)
        return self(batch).mean()


L.Trainer(devices=4, strategy="ddp", callbacks=[Logged(), Guarded(), Everywhere()]).fit(Net(), torch.load("rows.pt"))
