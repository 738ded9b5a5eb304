# Lists of an object that are filled and read through a method that returns them.
import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import DDPStrategy


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.train_values, self.values, self.means, self.together = [], [], [], []

    def of(self, train):
        return self.train_values if train else self.values

    def kept(self):
        return self.means

    def gathered(self):
        return self.together

    def validation_step(self, batch, batch_idx):
        loss = self.net(batch)
        self.of(False).append(torch.exp(loss).item())
        self.kept().append(loss.item())
        self.gathered().append(self.all_gather(loss).mean().item())
        return loss

    def on_validation_epoch_end(self):
        self.log("perplexity", np.mean(self.of(False)))  # expect: TRL003
        self.log("loss", np.mean(self.kept()))  # expect: TRL003
        self.log("together", np.mean(self.gathered()))


trainer = pl.Trainer(devices=-1, strategy=DDPStrategy())
trainer.fit(Module())
