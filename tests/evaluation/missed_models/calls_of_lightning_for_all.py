# `trainer.log_dir` broadcasts, `save_checkpoint` waits, and `log` with `sync_dist=True` reduces: all ranks must get there.
import os

import lightning as L
import pytorch_lightning as pl
from lightning.pytorch.callbacks import Callback


class Describe(Callback):
    def setup(self, trainer, pl_module, stage):
        if trainer.is_global_zero:
            print(f"everything is in {trainer.log_dir!r}")  # expect: TRL006
        folder = trainer.log_dir
        if trainer.is_global_zero:
            print(f"everything is in {folder!r}")

    def on_fit_start(self, trainer, pl_module):
        if not trainer.is_global_zero:
            return  # expect: TRL006
        if trainer.log_dir:
            os.makedirs(trainer.log_dir, exist_ok=True)

    def on_fit_end(self, trainer, pl_module):
        folder = trainer.log_dir
        with open(os.path.join(folder, "summary.txt"), "w") as file:  # expect: TRL008
            file.write("done")

    def on_train_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            trainer.save_checkpoint("last.ckpt")  # expect: TRL006
        trainer.save_checkpoint("all.ckpt")


class Older(pl.Callback):
    def on_train_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            trainer.save_checkpoint("last.ckpt")  # before 2.0 nobody waits here


class Module(L.LightningModule):
    def on_validation_epoch_end(self):
        if self.trainer.is_global_zero:
            self.log("score", self.score, sync_dist=True)  # expect: TRL006
        self.log("score", self.score, sync_dist=True)

    def on_train_epoch_end(self):
        if self.global_rank == 0:
            self.log("score", self.score)
            self.log("score", self.score, rank_zero_only=True, sync_dist=True)
            with open("scores.txt", "a") as file:
                file.write(str(self.score))

    def validation_step(self, batch, batch_idx):
        hits = self.model(batch)
        if hits.sum() > 0:  # on some batch of each rank
            self.log("hits", hits.mean(), sync_dist=True)


def main():
    trainer = L.Trainer(devices=2)
    trainer.fit(Module())
    if trainer.is_global_zero:
        trainer.save_checkpoint("best.ckpt")  # expect: TRL006


main()
