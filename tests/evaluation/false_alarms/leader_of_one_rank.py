# A leader that one rank runs alone meets the others in their own code: it is run by one process, elsewhere too.
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class Leader:
    def __init__(self, trainer, steps):
        self.trainer, self.steps = trainer, steps

    def run(self):
        for step in range(self.steps):
            self.trainer.step(step)
            if self.trainer.is_sharded:
                dist.broadcast(torch.ones(1, dtype=torch.long), src=0)
        with open("metrics.json", "w") as file:
            file.write("done")


class Worker:
    def __init__(self, trainer, steps):
        self.trainer, self.steps = trainer, steps

    def run(self):
        for step in range(self.steps):
            self.trainer.step(step)
            if self.trainer.is_sharded:
                dist.broadcast(torch.ones(1, dtype=torch.long), src=0)
        with open("metrics_of_workers.json", "w") as file:  # expect: TRL008
            file.write("done")


class Both:
    def __init__(self, trainer, steps):
        self.trainer, self.steps = trainer, steps

    def run(self):
        for step in range(self.steps):
            self.trainer.step(step)
            if self.trainer.is_sharded:
                dist.broadcast(torch.ones(1, dtype=torch.long), src=0)
        with open("metrics_of_both.json", "w") as file:  # expect: TRL008
            file.write("done")


def follow(trainer, steps):
    signal = torch.zeros(1, dtype=torch.long)
    for _ in range(steps):
        dist.broadcast(signal, src=0)
        trainer.follow()


def entry(rank, world_size, trainer, steps):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    if rank == 0:
        Leader(trainer, steps).run()
        Both(trainer, steps).run()
    else:
        follow(trainer, steps)
        follow(trainer, steps)
    dist.barrier()
    if rank == 0:
        print("done")


def entry_of_all(rank, world_size, trainer, steps):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    Both(trainer, steps).run()


def on_one(trainer, steps):
    Leader(trainer, steps).run()


def work(trainer, steps):
    Worker(trainer, steps).run()


def main(trainer, steps, gpus, kind):
    if kind == "workers":
        work(trainer, steps)
    elif gpus > 1:
        mp.spawn(entry, args=(gpus, trainer, steps), nprocs=gpus)
        mp.spawn(entry_of_all, args=(gpus, trainer, steps), nprocs=gpus)
    else:
        on_one(trainer, steps)
