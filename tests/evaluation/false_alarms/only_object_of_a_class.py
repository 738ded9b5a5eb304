# A class that makes its only object where it is first needed: what the object knows of its rank is known to others.
import os

import torch
import torch.distributed as dist


class Group:
    _made = None

    def __init__(self):
        self.number = int(os.environ["RANK"])
        self.size = int(os.environ["WORLD_SIZE"])
        dist.init_process_group("nccl")

    @classmethod
    def get(cls):
        if cls._made is None:
            cls._made = cls()
        return cls._made

    @classmethod
    def close(cls):
        if cls._made is not None:
            cls._made.wait()
            dist.destroy_process_group()
            cls._made = None

    @property
    def is_first(self):
        return self.number == 0

    def wait(self):
        if self.size > 1:
            dist.barrier()


class Trainer:
    def __init__(self):
        self.group = Group.get()

    def save(self, weights):
        if self.group.is_first:
            torch.save(weights, "weights.pt")
        self.group.wait()

    def save_alone(self, weights):
        if self.group.is_first:
            torch.save(weights, "weights.pt")
            self.group.wait()  # expect: TRL006

    def save_if_there(self, weights):
        if self.group.size > 1:
            self.group.wait()
        torch.save(weights, f"weights_{self.group.number}.pt")


trainer = Trainer()
trainer.save({})
trainer.save_alone({})
trainer.save_if_there({})
Group.close()
