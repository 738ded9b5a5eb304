# A LightningCLI calls `after_fit` and the like of an heir on every process, and has the trainer.
from pathlib import Path

from lightning.pytorch.cli import LightningCLI
from models import Data, Net
from pytorch_lightning.cli import LightningCLI as OldCLI


class WritesOnAll(LightningCLI):
    def before_fit(self):  # the first process may be alone: the trainer starts the others
        Path(self.trainer.default_root_dir, "started.txt").write_text("now")

    def after_fit(self):
        best = self.trainer.checkpoint_callback.best_model_path
        Path(self.trainer.default_root_dir, "best.txt").write_text(best)  # expect: TRL008
        if self.trainer.is_global_zero:
            self.trainer.test(ckpt_path="best", datamodule=self.datamodule)  # expect: TRL006


class WritesOnOne(LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.link_arguments("data.classes", "model.classes")

    def after_fit(self):
        best = self.trainer.checkpoint_callback.best_model_path
        if self.trainer.is_global_zero:
            Path(self.trainer.default_root_dir, "best.txt").write_text(best)
        self.trainer.test(ckpt_path="best", datamodule=self.datamodule)


class Older(OldCLI):
    def after_test(self):
        if self.trainer.global_rank == 0:
            self.trainer.validate(datamodule=self.datamodule)  # expect: TRL006


class Command:
    def after_fit(self):
        Path("best.txt").write_text("best")


def main():
    for kind in (WritesOnAll, WritesOnOne, Older):
        kind(Net, Data)
    command = LightningCLI(Net, Data, run=False)
    command.trainer.fit(command.model, command.datamodule)
    if command.trainer.is_global_zero:
        command.trainer.test(command.model, command.datamodule)  # expect: TRL006
    command.trainer.test(command.model, command.datamodule)


if __name__ == "__main__":
    main()
