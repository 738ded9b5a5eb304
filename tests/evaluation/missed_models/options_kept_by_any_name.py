# An object keeps the options of the program as attributes, under names that only the command line shows.
import argparse
import os

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, sets, **kwargs):
        self.sets = sets
        self.register_args(**kwargs)
        self.model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
        wandb.init(project="quotes", name=self.title)  # expect: TRL008
        self.best = 0

    def register_args(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def save(self, epoch):
        torch.save(self.model.module.state_dict(), os.path.join(self.folder, f"{epoch}.pth"))  # expect: TRL008
        torch.save(self.model.module.state_dict(), os.path.join(self.own_folder, "last.pth"))
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), os.path.join(self.folder, "last.pth"))
            dist.barrier()  # expect: TRL006


class Holder:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def save(self, model):
        torch.save(model.state_dict(), os.path.join(self.folder, "last.pth"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--title")
    parser.add_argument("--folder")
    args = parser.parse_args()
    args.rank = int(os.environ["RANK"])
    args.own_folder = os.path.join(args.folder, str(args.rank))
    dist.init_process_group("nccl", rank=args.rank)
    trainer = Trainer(["train"], **vars(args))
    for epoch in range(3):
        trainer.save(epoch)
    Holder(folder=f"out/{args.rank}", model=trainer.model).save(trainer.model)


main()
