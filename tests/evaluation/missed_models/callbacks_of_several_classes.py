# Callbacks of several classes, and functions among them, that only the main process adds: what all ranks wait for in one
# of them, the others miss. If all ranks add them, none does.
import torch
import torch.distributed as dist


class Shares:
    def __call__(self, step):
        counts = torch.ones(4, device="cuda")
        dist.all_reduce(counts)


class Meter:
    def __call__(self, step):
        print(step)


def written(step):
    print(step)


class Trainer:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader
        self.callbacks = []

    def train(self):
        for step, batch in enumerate(self.loader):
            self.model(batch).mean().backward()
            for callback in self.callbacks:
                callback(step)  # expect: TRL006


def started():
    dist.init_process_group("nccl")
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda())


def main(loader):
    trainer = Trainer(started(), loader)
    if dist.get_rank() == 0:
        trainer.callbacks.append(Meter())
        trainer.callbacks.append(Shares())
    trainer.train()


def train_with_functions(loader):
    model = started()
    callbacks = []
    if dist.get_rank() == 0:
        callbacks.append(Shares())
        callbacks.append(written)
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        for callback in callbacks:
            callback(step)  # expect: TRL006


def train_on_all(loader):
    model = started()
    callbacks = [Shares(), Meter(), written]
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        for callback in callbacks:
            callback(step)


def train_without_collectives(loader):
    model = started()
    callbacks = []
    if dist.get_rank() == 0:
        callbacks.append(Meter())
        callbacks.append(written)
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        for callback in callbacks:
            callback(step)


main(None)
train_with_functions(None)
train_on_all(None)
train_without_collectives(None)
