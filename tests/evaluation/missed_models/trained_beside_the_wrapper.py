"""A model that is wrapped under another name is trained past that wrapper, unless a test asks for the wrapper first."""

import copy

import torch
from somewhere import build, criterion, rows
from torch.nn.parallel import DistributedDataParallel


def of_two_names(args):
    model = build(args)
    model_without_ddp = model
    if args.several:
        model = DistributedDataParallel(model, device_ids=[args.gpu])
        model_without_ddp = model.module
    for x, y in rows():
        criterion(model_without_ddp(x), y).backward()  # expect: TRL009
        with torch.no_grad():
            print(model_without_ddp(x))
        criterion(model(x), y).backward()


def passed_on(args):
    model = build(args)
    model_without_ddp = model
    if args.several:
        model = DistributedDataParallel(model)
        model_without_ddp = model.module
    train(model_without_ddp)
    train_well(model)


def train(model):
    for x, y in rows():
        criterion(model(x), y).backward()  # expect: TRL009


def train_well(model):
    for x, y in rows():
        criterion(model(x), y).backward()


def alias(args):
    model = build(args)
    raw = model
    model = DistributedDataParallel(model)
    for x, y in rows():
        criterion(raw(x), y).backward()  # expect: TRL009


def another_model(args):
    model = build(args)
    other = copy.deepcopy(model)
    model = DistributedDataParallel(model)
    for x, y in rows():
        criterion(other(x), y).backward()


def chosen_by_the_setting(args):
    model = build(args)
    if args.several:
        wrapper = DistributedDataParallel(model)
    for x, y in rows():
        out = wrapper(x) if args.several else model(x)
        criterion(out, y).backward()
        if not args.several:
            criterion(model(x), y).backward()
        else:
            criterion(wrapper(x), y).backward()


def of_two_models(args):
    maker, judge = build("maker"), build("judge")
    made, judged = DistributedDataParallel(maker), DistributedDataParallel(judge)
    for x in rows():
        fake = maker(x).detach()
        (criterion(judged(fake)) + criterion(judged(x))).backward()
        criterion(judged(made(x))).backward()
        other = maker(x)
        criterion(judged(other.detach())).backward()
        again = maker(x)  # expect: TRL009
        print(again.detach())
        criterion(again).backward()


class Job:
    def __init__(self, args):
        self.args = args
        self.several = args.several
        self.model = build(args)
        if self.several:
            self.wrapper = DistributedDataParallel(self.model)
        else:
            self.wrapper = self.model

    def step(self, x, y):
        criterion(self.model(x), y).backward()  # expect: TRL009

    def step_well(self, x, y):
        criterion(self.wrapper(x), y).backward()

    def step_chosen(self, x, y):
        out = self.wrapper(x) if self.several else self.model(x)
        criterion(out, y).backward()

    def step_left_early(self, x, y):
        if not self.several:
            criterion(self.model(x), y).backward()
            return
        criterion(self.wrapper(x), y).backward()


class AlwaysWrapped:
    def __init__(self, args):
        self.model = build(args)
        self.wrapper = DistributedDataParallel(self.model)

    def step(self, x, y):
        criterion(self.model(x), y).backward()  # expect: TRL009

    @torch.no_grad()
    def sample(self, x):
        return self.model(x)
