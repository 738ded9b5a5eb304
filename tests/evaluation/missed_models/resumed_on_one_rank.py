# The epoch at which a run goes on follows from a path that only the main process has: the others begin at 0.
import os

import torch
from accelerate import Accelerator


def latest(folder):
    found = sorted(os.listdir(folder))
    return found[-1] if found else None


def counts_from_none(accelerator, read):
    path, first = None, 0
    if accelerator.is_main_process:
        path = read("out")
    if path is not None:
        first = int(path.split("-")[1])
    for _ in range(first, 10):
        accelerator.wait_for_everyone()  # expect: TRL006


def counts_in_the_other_branch(accelerator, args, steps):
    first = 0
    if args.resume:
        path = latest("out") if accelerator.is_main_process else None
        if path is None:
            accelerator.print("begins")
        else:
            first = int(path.split("-")[1]) // steps
    for _ in range(first, 10):
        accelerator.wait_for_everyone()  # expect: TRL006


def begins_anew(accelerator, read):
    path = read("out") if accelerator.is_main_process else None
    if path is None:  # noqa: SIM108
        first = 0
    else:
        first = int(path)
    for _ in range(first, 10):
        accelerator.wait_for_everyone()  # expect: TRL006


def goes_on_after_a_checkpoint(accelerator, args, model):
    first = 0
    if args.resume and accelerator.is_main_process:
        checkpoint = torch.load(args.resume)
        model.load_state_dict(checkpoint["model"])
        first = checkpoint["epoch"] + 1
    for _ in range(first, 10):
        accelerator.wait_for_everyone()  # expect: TRL006


def all_go_on_after_a_checkpoint(accelerator, args, model):
    first = 0
    if args.resume:
        checkpoint = torch.load(args.resume)
        if accelerator.is_main_process:
            model.load_state_dict(checkpoint["model"])
        first = checkpoint["epoch"] + 1
    for _ in range(first, 10):
        accelerator.wait_for_everyone()


def on_all_ranks(accelerator, read):
    path, first = read("out"), 0
    if path is not None:
        first = int(path.split("-")[1])
    for _ in range(first, 10):
        accelerator.wait_for_everyone()


def counts_to_its_own_last(accelerator, read):
    path, first, last = None, 0, 10
    if accelerator.is_main_process:
        path = read("out")
    if path is not None:
        first, last = 3, 13
    for _ in range(first, last):
        accelerator.wait_for_everyone()


def kept_as_given(accelerator, first):
    if accelerator.is_main_process:
        first = 0
    for _ in range(first, 10):
        accelerator.wait_for_everyone()


class Training:
    def __init__(self, args):
        self.args, self.accelerator = args, Accelerator()
        self.first = 0
        self.shown = 0

    def resumes_on_one_rank(self):
        if self.args.resume and self.accelerator.is_main_process:
            self.first = torch.load(self.args.resume)["epoch"] + 1
        for _ in range(self.first, 10):
            self.accelerator.wait_for_everyone()  # expect: TRL006

    def shows_on_one_rank(self):
        if self.args.resume and self.accelerator.is_main_process:
            self.shown = torch.load(self.args.resume)["epoch"] + 1
            print(self.shown)
        for _ in range(10):
            self.accelerator.wait_for_everyone()


class Resuming:
    def __init__(self, args):
        self.args, self.accelerator = args, Accelerator()
        self.first = 0

    def resumes(self):
        if self.args.resume:
            self.first = torch.load(self.args.resume)["epoch"] + 1
        if self.accelerator.is_main_process:
            print(self.first)
        for _ in range(self.first, 10):
            self.accelerator.wait_for_everyone()


def main(args, read):
    Training(args).resumes_on_one_rank()
    Training(args).shows_on_one_rank()
    Resuming(args).resumes()
    accelerator = Accelerator()
    counts_from_none(accelerator, read)
    counts_in_the_other_branch(accelerator, args, 100)
    begins_anew(accelerator, read)
    goes_on_after_a_checkpoint(accelerator, args, torch.nn.Linear(2, 2))
    all_go_on_after_a_checkpoint(accelerator, args, torch.nn.Linear(2, 2))
    on_all_ranks(accelerator, read)
    counts_to_its_own_last(accelerator, read)
    kept_as_given(accelerator, args.first)
