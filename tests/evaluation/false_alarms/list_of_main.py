# A list of an object that only the main process adds to, in another method: where it has something is the main process.
import numpy as np
import pytorch_lightning as pl


class Save(pl.Callback):
    def __init__(self):
        self.rows, self.all = [], []

    def on_validation_epoch_start(self, trainer, module):
        self.samples = []
        self.counts = []

    def on_validation_batch_end(self, trainer, module, outputs, batch, batch_idx):
        everything = module.all_gather(outputs)
        self.all.append(1)
        if trainer.is_global_zero:
            self.samples.append(everything.cpu().numpy())
            self.rows.extend(everything.cpu().tolist())
            self.all.append(2)
            self.counts.append(3)

    def on_validation_epoch_end(self, trainer, module):
        if len(self.samples) > 0:
            np.savez("samples.npz", np.concatenate(self.samples))
        if self.rows:
            np.savez("rows.npz", self.rows)
        if self.all:
            np.savez("all.npz", self.all)  # expect: TRL008
        self.write_counts()
        self.counts.append(4)
        for count in self.counts:
            np.savez("counts.npz", module.all_gather(count))  # expect: TRL008

    def write_counts(self):
        if not self.samples:
            return
        np.savez("counts.npz", self.counts)
