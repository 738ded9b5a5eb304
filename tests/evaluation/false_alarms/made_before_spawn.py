# The other processes get the modules and callbacks that this one has made: it starts them for a function.
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


class Saves(pl.Callback):
    def __init__(self):
        os.mkdir("saved")

    def on_train_end(self, trainer, pl_module):
        os.mkdir("of_each")  # expect: TRL008


def main(net):
    trainer = pl.Trainer(strategy="ddp_spawn", devices=4, callbacks=[Saves()])
    trainer.fit(Task(net), Data())
