# A model is made with settings from a file, of which the code sets the one that decides whether parts are wrapped.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Shown(torch.nn.Module):
    def __init__(self, width, wrap=True):
        super().__init__()
        self.head = torch.nn.Linear(width, 1).cuda()
        if wrap:
            self.head = DistributedDataParallel(self.head)


class Drawn(torch.nn.Module):
    def __init__(self, width, wrap=True):
        super().__init__()
        self.head = torch.nn.Linear(width, 1).cuda()
        if wrap:
            self.head = DistributedDataParallel(self.head)


class Trained(torch.nn.Module):
    def __init__(self, width, wrap=False):
        super().__init__()
        self.head = torch.nn.Linear(width, 1).cuda()
        if wrap:
            self.head = DistributedDataParallel(self.head)


def without_old(kwargs):
    if "shading" in kwargs:
        kwargs.pop("shading")
    return kwargs


def show(path):
    kwargs = torch.load(path)["kwargs"]
    kwargs.update({"width": 4, "wrap": False})
    kwargs = without_old(kwargs)
    print(Shown(**kwargs).head.weight)


def draw(path):
    kwargs = torch.load(path)["kwargs"]
    kwargs["wrap"] = False
    print(Drawn(**kwargs).head.weight)


def train(path):
    kwargs = torch.load(path)["kwargs"]
    kwargs.update({"wrap": True})
    print(Trained(**kwargs).head.weight)  # expect: TRL002


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    show("shown.pt")
    draw("drawn.pt")
    train("trained.pt")


main()
