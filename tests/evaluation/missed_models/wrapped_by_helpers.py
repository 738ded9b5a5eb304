"""A helper that returns the model early if there is one process returns a wrapped one otherwise."""

from somewhere import build, rows
from torch.nn.parallel import DistributedDataParallel


def left_early(model, args):
    if not args.several:
        return model
    return DistributedDataParallel(model, device_ids=[args.gpu])


def of_two(model, args):
    if args.several:
        return DistributedDataParallel(model)
    else:
        return model.cuda()


def of_other_conditions(model, args):
    if args.several:
        if args.wraps:
            return DistributedDataParallel(model)
        return model
    return model


def main(args):
    model = left_early(build(), args)
    print(model.config)  # expect: TRL002
    if not args.several:
        print(model.config)
    bare = model.module if args.several else model
    print(bare.config)
    other = of_two(build(), args)
    print(other.config)  # expect: TRL002
    if hasattr(other, "module"):
        print(other.module.config)
    print(of_other_conditions(build(), args).config)


class Job:
    def __init__(self, args):
        self.args = args
        self.model = self._wrapped(build())

    def _wrapped(self, model):
        if self.args.several:
            return DistributedDataParallel(model)
        return model

    def train(self):
        self.model.encode(rows())  # expect: TRL002
        if not self.args.several:
            self.model.encode(rows())
