"""Processes that MPI started, of which some make an Accelerator: nothing says that its world are only these."""

from accelerate import Accelerator
from accelerate.utils import gather_object
from mpi4py import MPI


def start(members):
    rank = MPI.COMM_WORLD.Get_rank()
    accelerator = None
    if rank in members:
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
            self.train_on_rows()
        else:
            self.search()

    def train_on_rows(self):
        for step in range(100):
            if self.turns > 0 and step % self.turns == 0:
                self.complete()  # expect: TRL006

    def complete(self):
        return gather_object(["text"])

    def search(self):
        return self.rank


def main(model, loader):
    Trainer(model, loader, 10).train()
