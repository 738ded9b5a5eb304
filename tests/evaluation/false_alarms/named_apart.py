# What is gathered, and put into a table under a name of each rank, is the same on all ranks when it is read under that
# name. What each rank has computed of its own data is not.
import pandas as pd
import torch
from pytorch_lightning import LightningModule


class Gathering(LightningModule):
    def __init__(self):
        super().__init__()
        self.is_first = True

    def validation_epoch_end(self, outputs):
        name = "first" if self.is_first else f"{self.current_epoch:02d}"
        found = [each["accuracy"] for each in self.all_gather(outputs)]
        table = pd.DataFrame({f"accuracy_{name}": torch.cat(found).cpu().numpy()})
        if table[f"accuracy_{name}"].mean() < self.hparams.least:
            self.trainer.should_stop = True

    def on_validation_end(self):
        if self.is_first and self.local_rank == 0:
            self.is_first = False


class Own(LightningModule):
    def __init__(self):
        super().__init__()
        self.is_first = True

    def validation_step(self, batch, index):
        scores = {f"accuracy_{self.current_epoch}": self(batch).mean()}
        if scores[f"accuracy_{self.current_epoch}"] < self.hparams.least:
            self.trainer.should_stop = True  # expect: TRL006
