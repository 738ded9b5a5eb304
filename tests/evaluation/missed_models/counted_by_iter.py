# Trainers of detectron2's and OpenMMLab's kind count their steps in `iter`, up to `max_iter`: all ranks are as far.
import os
import weakref

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Saver:
    def __init__(self, model, folder, period):
        self.model, self.folder, self.period = model, folder, period

    def after_step(self):
        path = os.path.join(self.folder, f"model_{self.trainer.iter:07d}.pth")
        if (self.trainer.iter + 1) % self.period == 0 or self.trainer.iter + 1 >= self.trainer.max_iter:
            torch.save(self.model.state_dict(), path)  # expect: TRL008


class SaverOfTheFirst(Saver):
    def after_step(self):
        if (self.trainer.iter + 1) % self.period == 0 and dist.get_rank() == 0:
            torch.save(self.model.state_dict(), os.path.join(self.folder, "model.pth"))


class SaverWhereAsked(Saver):
    def after_step(self):
        if self.trainer.saves + 1 >= self.trainer.limit:
            torch.save(self.model.state_dict(), os.path.join(self.folder, "model.pth"))


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader, self.hooks = model, iter(loader), []

    def register(self, hooks):
        for hook in hooks:
            hook.trainer = weakref.proxy(self)
        self.hooks.extend(hooks)

    def train(self, start, stop):
        for self.iter in range(start, stop):
            self.model(next(self.loader)).mean().backward()
            for hook in self.hooks:
                hook.after_step()


def main(net, loader):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    trainer = Trainer(model, loader)
    trainer.register([Saver(model, "out", 10), SaverOfTheFirst(model, "out", 10), SaverWhereAsked(model, "out", 10)])
    trainer.train(0, 1000)


if __name__ == "__main__":
    main(None, None)
