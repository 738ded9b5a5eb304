# Methods that Lightning called before 1.8, in a file of which nothing shows that it is for such a release.
import pytorch_lightning as pl
import torch


class Saves(pl.Callback):
    def on_epoch_end(self, trainer, pl_module):
        torch.save(pl_module.state_dict(), "epoch.pt")

    def on_train_epoch_end(self, trainer, pl_module):
        torch.save(pl_module.state_dict(), "train.pt")  # expect: TRL008
