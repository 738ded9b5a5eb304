# A flag that all constructions of a class give alike decides its tests, unless other code may make one, or set it.
import torch
import torch.distributed as dist


class Hook:
    def __init__(self, every):
        self.every = every


def score(model):
    total = model(torch.ones(1).cuda()).sum()
    dist.all_reduce(total)
    return total


class OnAll(Hook):
    def __init__(self, every, on_all):
        self.every = every
        self.on_all = on_all

    def run(self, model):
        if self.on_all:
            print(score(model))
        elif dist.get_rank() == 0:
            score(model)


class EitherWay(Hook):
    def __init__(self, every, on_all):
        self.every = every
        self.on_all = on_all

    def run(self, model):
        if self.on_all:
            print(score(model))
        elif dist.get_rank() == 0:
            score(model)  # expect: TRL006


class Listed(Hook):
    def __init__(self, every, on_all):
        self.every = every
        self.on_all = on_all

    def run(self, model):
        if self.on_all:
            print(score(model))
        elif dist.get_rank() == 0:
            score(model)  # expect: TRL006


class SwitchedLater(Hook):
    def __init__(self, every, everywhere):
        self.every = every
        self.everywhere = everywhere

    def run(self, model):
        if self.everywhere:
            print(score(model))
        elif dist.get_rank() == 0:
            score(model)  # expect: TRL006


class Runner:
    def __init__(self, args):
        self.first = OnAll(args.every, True)
        self.second = OnAll(every=2 * args.every, on_all=True)
        self.third = EitherWay(args.every, on_all=True)
        self.fourth = EitherWay(args.every, on_all=False)
        self.fifth = Listed(args.every, True)
        self.sixth = SwitchedLater(args.every, True)
        self.sixth.everywhere = args.everywhere

    def run(self, model):
        self.first.run(model)
        self.second.run(model)
        self.third.run(model)
        self.fourth.run(model)
        self.fifth.run(model)
        self.sixth.run(model)


HOOKS = {"listed": Listed}


def main(args):
    dist.init_process_group("nccl")
    Runner(args).run(torch.nn.Linear(1, 1).cuda())
