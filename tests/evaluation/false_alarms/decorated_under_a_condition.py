# A method that its decorator runs on one rank is called under an unknown condition, or in a loop of unknown length: as
# far as it is called at all, its collective is not reached by the others.

import functools

import torch
import torch.distributed as dist
from elsewhere import asked, rounds


def on_main(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)

    return inner


class Run:
    def __init__(self, net):
        self.net = net

    @on_main
    def save(self, path):
        torch.save(self.net, path)
        dist.barrier()  # expect: TRL006

    @on_main
    def save_once(self, path):
        torch.save(self.net, path)
        dist.barrier()  # expect: TRL006

    @on_main
    def save_alone(self, path):
        torch.save(self.net, path)

    def fit(self):
        for _ in range(rounds()):
            self.save("last.pt")
            self.save_alone("copy.pt")
            dist.barrier()
        if asked():
            self.save_once("end.pt")


dist.init_process_group("nccl")
Run(torch.nn.Linear(1, 1)).fit()
