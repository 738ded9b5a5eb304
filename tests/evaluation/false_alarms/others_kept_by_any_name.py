# Objects that keep the options of the program as attributes, and also set others of which no code writes out the names.
import argparse

import torch
import torch.distributed as dist


class InItsDict:
    def __init__(self, options):
        for name, value in vars(options).items():
            setattr(self, name, value)
        vars(self)["writes"] = dist.get_rank() == 0

    def save(self, model):
        if self.writes:
            torch.save(model.state_dict(), "a.pt")


class BesideItsOwnWay:
    def __init__(self, options):
        for name, value in vars(options).items():
            setattr(self, name, value)
        object.__setattr__(self, "writes", dist.get_rank() == 0)

    def save(self, model):
        if self.writes:
            torch.save(model.state_dict(), "b.pt")


class OptionsOnly:
    def __init__(self, options):
        for name, value in vars(options).items():
            setattr(self, name, value)

    def save(self, model):
        if self.writes:
            torch.save(model.state_dict(), "c.pt")  # expect: TRL008


def main(model):
    parser = argparse.ArgumentParser()
    parser.add_argument("--writes", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    InItsDict(args).save(model)
    BesideItsOwnWay(args).save(model)
    OptionsOnly(args).save(model)
