"""A loop whose element is either a number of a step, or that number and a batch."""

from accelerate import Accelerator


def main(model, optimizer, args, make_loaders, make_rows):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    items = range(args.steps) if args.toy else make_loaders(args)
    for item in items:
        if args.toy:
            step, (x, y) = item, make_rows()
        else:
            step, (x, y) = item
        reveal_rank(step)  # revealed: unknown
        accelerator.backward(model(x, y))
    for item in make_loaders(args):
        x, y = item
        reveal_rank(x)  # revealed: shard
        accelerator.backward(model(x, y))
