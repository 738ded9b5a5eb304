# The module and the data module are only made where the trainer has one device.
import os

import pytorch_lightning as pl


class Task(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        os.mkdir("predictions")

    def training_step(self, batch, batch_idx):
        return self.net(batch).sum()


class Data(pl.LightningDataModule):
    def __init__(self, folder="data"):
        super().__init__()
        os.mkdir(folder)


def main(net):
    trainer = pl.Trainer(devices=1, max_epochs=3)
    trainer.fit(Task(net), Data())
