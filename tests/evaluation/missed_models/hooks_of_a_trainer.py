"""A trainer of detectron2 calls its hooks on each process that the program starts."""

import os

import torch
from detectron2.engine import DefaultTrainer, HookBase, hooks, launch
from detectron2.utils import comm


class KeepsLast(HookBase):
    def __init__(self, every: int = 500):
        self.every = every

    def after_step(self):
        folder = self.trainer.cfg.OUTPUT_DIR
        if (self.trainer.iter + 1) % self.every == 0:
            torch.save(self.trainer.state_dict(), os.path.join(folder, "kept.pth"))  # expect: TRL008

    def after_train(self):
        folder = self.trainer.cfg.OUTPUT_DIR
        os.rename(f"{folder}/kept.pth", f"{folder}/final.pth")  # expect: TRL008


class KeepsOnFirst(hooks.HookBase):
    def after_train(self):
        if comm.is_main_process():
            os.remove(f"{self.trainer.cfg.OUTPUT_DIR}/last.pth")


class OfFirst(hooks.HookBase):
    def after_train(self):
        os.remove(f"{self.trainer.cfg.OUTPUT_DIR}/best.pth")


class Trainer(DefaultTrainer):
    def build_hooks(self):
        found = [*super().build_hooks(), KeepsLast(), KeepsOnFirst()]
        if comm.is_main_process():
            found.append(OfFirst())
        return found


def main(cfg):
    return Trainer(cfg).train()


if __name__ == "__main__":
    launch(main, 8, args=(os.environ["CONFIG"],))
