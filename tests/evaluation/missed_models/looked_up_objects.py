# Objects whose class a table or a registry names, and hooks among unknown ones: each process makes and calls them.
import torch
import torch.distributed as dist
from plugins import find_hook


class Task:
    kinds = {}

    def __init_subclass__(cls):
        super().__init_subclass__()
        cls.kinds[cls.__name__] = cls

    @classmethod
    def make(cls, config):
        return cls.kinds[config.kind]()


class Saves(Task):
    def finish(self):
        torch.save({}, "out/task.pt")  # expect: TRL008


class SavesOnce(Task):
    def finish(self):
        if dist.get_rank() == 0:
            torch.save({}, "out/once.pt")


class Keeps:
    def after_epoch(self, epoch):
        torch.save({}, f"out/{epoch}.pt")  # expect: TRL008

    def never_called(self):
        torch.save({}, "out/never.pt")


class KeepsOfOne:
    def after_epoch(self, epoch):
        torch.save({}, f"out/one_{epoch}.pt")


class Runner:
    def run_train(self):
        torch.save({}, "out/run.pt")  # expect: TRL008

    def start(self, config):
        getattr(self, f"run_{config.mode}")()


def call(hooks, name, *args):
    for hook in hooks:
        getattr(hook, name)(*args)


def main(config):
    dist.init_process_group("nccl")
    Task.make(config).finish()
    Runner().start(config)
    call([Keeps(), find_hook(config)], "after_epoch", 1)
    if dist.get_rank() == 0:
        call([KeepsOfOne(), find_hook(config)], "after_epoch", 2)
