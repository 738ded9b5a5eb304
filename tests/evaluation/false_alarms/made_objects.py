"""What a class has made is not None, unless the class says what it makes, or a function sets a global name to None."""

import torch.distributed as dist


class Meter:
    def __init__(self):
        self.values = []


class Registered:
    def __new__(cls, name):
        return super().__new__(cls) if name else None


METER = Meter()


def forget():
    global METER
    METER = None


def report_if_forgotten():
    if METER is None and dist.get_rank() == 0:
        dist.barrier()  # expect: TRL006


def train(steps, meter=None):
    if meter is None and dist.get_rank() == 0:
        dist.barrier()  # no call leaves it out
    for _ in range(steps):
        report_if_forgotten()
        forget()


def main(name):
    dist.init_process_group("nccl")
    found = Registered(name)
    if found is None and dist.get_rank() == 0:
        dist.barrier()  # expect: TRL006
    train(3, Meter())


main("first")
