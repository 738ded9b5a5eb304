# A trainer of detectron2 that no code starts on several processes; a runner of OpenMMLab is started by its own tools.
import os

from detectron2.engine import DefaultTrainer, HookBase
from mmengine.hooks import Hook


class Keeps(HookBase):
    def after_train(self):
        folder = self.trainer.cfg.OUTPUT_DIR
        os.rename(f"{folder}/last.pth", f"{folder}/final.pth")


class KeepsInRun(Hook):
    def __init__(self, folder: str):
        self.folder = folder

    def after_train(self, runner):
        os.rename(f"{self.folder}/last.pth", f"{self.folder}/final.pth")  # expect: TRL008


def train(cfg):
    trainer = DefaultTrainer(cfg)
    trainer.register_hooks([Keeps()])
    return trainer.train()
