# Each process of a Lightning run makes its module and its data module, as it does its callbacks.
import os

import pytorch_lightning as pl
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        os.mkdir("parts")  # who makes this part is not in sight
        self.linear = torch.nn.Linear(2, 2)


class Task(pl.LightningModule):
    def __init__(self, net, lr=0.1):
        super().__init__()
        self.net = net
        self.lr = lr
        self.out = open("predictions.txt", "w")  # expect: TRL008

    def training_step(self, batch, batch_idx):
        return self.net(batch).sum()

    def predict_step(self, batch, batch_idx):
        self.out.write(str(self.net(batch)))

    def on_predict_epoch_end(self):
        self.out.close()


class Data(pl.LightningDataModule):
    def __init__(self, folder="data"):
        super().__init__()
        os.mkdir(folder)  # expect: TRL008
        os.makedirs("cache", exist_ok=True)

    def prepare_data(self):
        os.mkdir("raw")  # on one process
