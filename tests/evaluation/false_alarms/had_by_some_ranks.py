# What only some ranks have: not where each of them has its turn, nor where the code asks for the thing itself.
import torch.distributed as dist
from accelerate import Accelerator


class Worker:
    def start(self):
        print("started")


class Run:
    is_open = None

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.worker = Worker() if accelerator.is_main_process else None
        self.log = None
        if accelerator.is_main_process:
            self.log = Worker()
            Run.is_open = True

    def train(self, loader):
        self.accelerator.wait_for_everyone()
        if isinstance(self.worker, Worker):
            self.worker.start()
        for _ in loader:
            self.worker.start()  # expect: TRL017

    def close(self):
        self.accelerator.wait_for_everyone()
        if Run.is_open:
            self.log.start()


def load(accelerator, read):
    for turn in range(accelerator.num_processes):
        if turn == accelerator.process_index:
            model = read()
        accelerator.wait_for_everyone()
    return model


def in_groups(groups):
    for members in groups:
        if dist.get_rank() in members:
            group = members
    return group


def folder_of(accelerator, args):
    if accelerator.is_main_process:
        folder = args.output_dir
    return folder  # expect: TRL017


def main(loader, args):
    accelerator = Accelerator()
    run = Run(accelerator)
    run.train(loader)
    run.close()
    print(load(accelerator, open), in_groups(args.groups), folder_of(accelerator, args))
