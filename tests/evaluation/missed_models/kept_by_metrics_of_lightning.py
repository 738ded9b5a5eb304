# Lightning's trainer has the metrics on all ranks: a condition on them keeps no rank from writing the file.
import json
import os

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only


class Export(Callback):
    def __init__(self, folder):
        self.folder = folder
        self.best = 0.0

    def on_validation_end(self, trainer, pl_module):
        recall = trainer.callback_metrics["recall"].item()
        if recall > self.best:
            self.best = recall
            self.save(trainer, pl_module)
            self.save_on_first(trainer)

    def save(self, trainer, pl_module):
        pl_module.encoder.save_pretrained(self.folder)  # expect: TRL008
        if trainer.is_global_zero:
            pl_module.encoder.save_pretrained(os.path.join(self.folder, "first"))

    @rank_zero_only
    def save_on_first(self, trainer):
        with open(os.path.join(self.folder, "best.json"), "w") as file:
            json.dump({"recall": float(trainer.logged_metrics["recall"])}, file)


class Retrieval(L.LightningModule):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def training_step(self, batch, batch_idx):
        return self.encoder(batch).mean()

    def validation_step(self, batch, batch_idx):
        self.log("recall", self.encoder(batch).mean(), sync_dist=True)


trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp", callbacks=[Export("out")])
trainer.fit(Retrieval(torch.load("encoder.pt")))
