# A hook of Lightning that runs on one rank only: what it logs is all that there is, and nothing to be reduced.
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_only


class OnOne(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    @rank_zero_only
    def validation_step(self, batch, batch_idx):
        for name in ("a", "b"):
            self.log(f"val/{name}", self.net(batch).mean())
        self.show(self.net(batch).mean())

    def show(self, loss):
        self.log("val/shown", loss)


class OnAll(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def validation_step(self, batch, batch_idx):
        loss = self.net(batch).mean()
        self.show(loss)
        if self.global_rank == 0:
            self.log("val/loss", loss)  # expect: TRL003

    @rank_zero_only
    def show(self, loss):
        self.log("val/shown", loss)  # expect: TRL003


def main(train, val):
    for model in (OnOne(), OnAll()):
        pl.Trainer(accelerator="gpu", devices=2, strategy="ddp").fit(model, train, val)
