"""A group that only its members have to create, and a value that is built if it has not been built before."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def groups():
    if dist.get_rank() == 0:
        dist.new_group([0], use_local_synchronization=True)
    if dist.get_rank() == 0:
        dist.new_group([0])  # expect: TRL006


class Job:
    def __init__(self, model):
        self.model = FSDP(model)
        self.copy = None

    def whole(self):
        with FSDP.state_dict_type(self.model, "full"):
            return self.model.state_dict()

    def built(self):
        if self.copy is None:
            self.copy = self.whole()
        return self.copy

    def built_anew(self):
        self.copy = self.whole()
        return self.copy

    def show(self):
        if dist.get_rank() == 0:
            print(self.built())

    def show_anew(self):
        if dist.get_rank() == 0:
            print(self.built_anew())  # expect: TRL006


def main(model):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % 8)
    groups()
    job = Job(model)
    job.show()
    job.show_anew()


if __name__ == "__main__":
    main(torch.nn.Linear(1, 1))
