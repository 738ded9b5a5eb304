# An unknown model, wrapped if a setting says so: code that tests for that in any form is right.
import os

import torch
from models import build
from torch.nn.parallel import DistributedDataParallel as DDP


def detr(args):
    model = build(args)
    bare = model
    if args.distributed:
        model = DDP(model)
        bare = model.module
    print(bare.config)
    print(model.module.config if args.distributed else model.config)


def again(args):
    model = build(args)
    if args.distributed:
        model = DDP(model)
    inner = model
    if args.distributed:
        inner = model.module
    print(inner.config)
    inner = model.module if hasattr(model, "module") else model
    print(inner.config)
    inner = getattr(model, "module", model)
    print(inner.config)


def handler(args):
    model = build(args)
    if args.distributed:
        model = DDP(model)
    try:
        print(model.config)
    except AttributeError:
        print(model.module.config)


def world(args):
    model = build(args)
    world = int(os.environ.get("WORLD_SIZE", 1))
    if world > 1:
        model = DDP(model)
    if world > 1:
        print(model.module.config)
    else:
        print(model.config)
    if torch.distributed.is_initialized():
        print(model.module.config)
    else:
        print(model.config)


class T:
    def __init__(self, args):
        self.args = args
        self.model = build(args)
        if args.distributed:
            self.model = DDP(self.model)
        self.net = self.model.module if args.distributed else self.model

    def a(self):
        print(self.net.config)
        if self.args.distributed:
            print(self.model.module.config)
        else:
            print(self.model.config)


def names(args):
    model = build(args)
    ddp = args.world > 1 and not args.cpu
    if ddp:
        model = DDP(model)
    if args.world > 1 and not args.cpu:
        print(model.module.config)
    else:
        print(model.config)
    if not ddp:
        print(model.config)
    if args.cpu:
        print(model.config)


def early(args):
    model = build(args)
    if not args.distributed:
        return model.config
    model = DDP(model)
    return model.module.config


def engine(args):
    model = build(args)
    if args.deepspeed:
        import deepspeed

        model, *_ = deepspeed.initialize(model=model)
    elif args.ddp:
        model = DDP(model)
    if args.deepspeed:
        print(model.config)
    elif args.ddp:
        print(model.module.config)


def flags(args):
    use = os.environ.get("X") == "1"
    model = build(args)
    if use:
        model = DDP(model)
    if os.environ.get("X"):
        print(model.module.config)
    else:
        print(model.config)


def loops(args, xs):
    model = build(args)
    wrapped = False
    for _ in xs:
        if not wrapped:
            model = DDP(model)
            wrapped = True
        print(model.module.config)


def unasked(args):
    model = build(args)
    if args.distributed:
        model = DDP(model)
    print(model.config)  # expect: TRL002
