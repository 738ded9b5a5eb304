"""A process with several GPUs takes DataParallel, one of several DDP: where it is wrapped twice, DDP synchronises."""

import argparse

import torch
from somewhere import build, rows, together


def by_both(args):
    torch.distributed.init_process_group("nccl")
    model = build()
    if args.n_gpu > 1:
        model = torch.nn.DataParallel(model)
    if args.local_rank != -1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    for batch in rows():
        loss = model(batch).mean()
        if torch.isnan(loss):
            break  # expect: TRL006
        loss.backward()
    print(model.config)  # expect: TRL002


def by_one(args):
    torch.distributed.init_process_group("nccl")
    model = build()
    if args.n_gpu > 1:
        model = torch.nn.DataParallel(model)
    for batch in rows():
        loss = model(batch).mean()
        if torch.isnan(loss):
            break
        loss.backward()


def all_together(args):
    torch.distributed.init_process_group("nccl")
    model = build()
    if args.n_gpu > 1:
        model = torch.nn.DataParallel(model)
    model = torch.nn.parallel.DistributedDataParallel(model)
    for batch in rows():
        loss = model(batch).mean()
        if together(torch.isnan(loss)):
            break
        loss.backward()


class Job:
    def __init__(self, local_rank):
        self.local_rank = local_rank
        self.device = torch.device("cuda", local_rank)
        self.model = None
        torch.distributed.init_process_group("nccl")

    def load(self, name):
        self.model = build(name)

    def place(self):
        self.model = self.model.to(self.device)

    def wrap(self):
        if self.local_rank != -1:
            self.model = torch.nn.parallel.DistributedDataParallel(self.model)

    def loss_of(self, batch):
        return self.model(batch.to(self.device)).loss

    def train(self, num_training_steps):
        step = 0
        for batch in rows():
            step += 1
            loss = self.loss_of(batch).mean()
            if torch.isnan(loss).any():
                continue  # expect: TRL006
            loss.backward()
            if step == num_training_steps:
                break

    def train_alone(self):
        for batch in rows():
            loss = self.loss_of(batch).mean()
            if torch.isnan(loss).any():
                continue
            loss.backward()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--n_gpu", type=int)
    args = parser.parse_args()
    by_both(args)
    by_one(args)
    all_together(args)
    alone = Job(args.local_rank)
    alone.load("x")
    alone.train_alone()
    job = Job(args.local_rank)
    job.load("x")
    job.place()
    job.wrap()
    job.train(100)
