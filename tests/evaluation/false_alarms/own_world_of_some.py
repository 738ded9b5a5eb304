# Processes that MPI started, of which some make an Accelerator of a world of their own: they say themselves how many
# they are. Without that, those who make one wait for the others.
import os

import wandb
from accelerate import Accelerator
from accelerate.utils import gather_object
from mpi4py import MPI


def start(members):
    rank = MPI.COMM_WORLD.Get_rank()
    accelerator = None
    if rank in members:
        os.environ["WORLD_SIZE"] = str(len(members))
        os.environ["RANK"] = str(members.index(rank))
        accelerator = Accelerator()
    return rank, accelerator


class Trainer:
    def __init__(self, model, loader, every):
        members = [0]
        self.rank, self.accelerator = start(members)
        self.role = "trainer" if self.rank <= max(members) else "searcher"
        self.every = every
        if self.role == "trainer":
            self.size = self.accelerator.num_processes if self.accelerator else 1
            self.turns = self.every // self.size
            self.model, self.loader = self.accelerator.prepare(model, loader)

    def train(self):
        if self.role == "trainer":
            self.evaluate()
            self.train_on_rows()
        else:
            self.search()

    def evaluate(self):
        wandb.log({"accuracy": 1.0})

    def train_on_rows(self):
        for step in range(100):
            if self.turns > 0 and step % self.turns == 0:
                self.complete()

    def complete(self):
        return gather_object(["text"])

    def search(self):
        return self.rank


def main(model, loader):
    Trainer(model, loader, 10).train()
