# What of an evaluation is shown or written by hand, and right: each beside a metric of one rank that is not.
import json
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from mine import GPT, get_options, read_tokens, rows
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
rank, size = dist.get_rank(), dist.get_world_size()
args = get_options()
tokens = read_tokens(args.files)
model = DDP(GPT(args).cuda())
optimizer = torch.optim.AdamW(model.parameters())


class TokenLoader:
    def __init__(self, batch):
        self.batch, self.tokens, self.position = batch, torch.tensor(tokens), rank * batch

    def next_batch(self):
        buffer = self.tokens[self.position : self.position + self.batch + 1]
        self.position += self.batch * size
        return buffer[:-1].cuda(), buffer[1:].cuda()

    def whole(self, place):
        return self.tokens[place : place + self.batch].cuda()


def print0(*texts):
    if rank == 0:
        print(*texts)


def print_of_rank(text):
    print(f"[{rank}] {text}")


def print_reduced(value):
    total = torch.tensor(value).cuda()
    dist.all_reduce(total)
    print0(total.item() / size)


def print_changed(value):
    value = average(value)
    print0(value)


def average(value):
    shares = [None] * size
    dist.all_gather_object(shares, value)
    return sum(shares) / size


loader = TokenLoader(args.batch)


def evaluate():
    with torch.no_grad():
        own, reduced = 0.0, torch.zeros(()).cuda()
        for _ in range(args.steps):
            x, y = loader.next_batch()
            _, loss = model(x, y, return_logits=False)
            own += loss.item()
            reduced += loss.detach()
            print0(loss.item())  # the progress of this rank
        own /= args.steps
        dist.all_reduce(reduced)
    print0(f"val loss {own}")  # expect: TRL003
    print0(f"val loss {reduced.item() / size}")
    print_of_rank(f"val loss {own}")
    print_reduced(own)
    print_changed(own)
    with open(f"loss{rank}.txt", "a") as file:
        file.write(f"val loss {own}")
    with open(os.path.join(args.folder, f"loss_{rank}.json"), "w") as file:
        json.dump({"loss": own}, file)


@torch.no_grad()
def same_for_all():
    mask = torch.arange(args.length).cuda() < rank
    masked, drawn = [], []
    for step in range(args.steps):
        x = loader.whole(step)
        masked.append(model(x, mask)[1].item())  # all ranks compute this for all rows
        places = torch.randint(len(tokens), (args.batch,))
        drawn.append(model(torch.stack([loader.whole(each) for each in places]))[1].item())
    print0(np.mean(masked), np.mean(drawn))


def train():
    batches = iter(DataLoader(rows, sampler=DistributedSampler(rows)))
    for step in range(args.steps):
        loss = model(next(batches)).loss
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print0(f"loss {loss.item()}")
            with torch.no_grad():
                sample = model(next(batches)).logits
                for _ in range(5):
                    sample = model(sample).logits
                print0(sample.mean().item())
    with open("log.txt", "a") as file:  # expect: TRL008
        file.write(f"last loss {loss.item()}")


@torch.no_grad()
def estimate():
    losses = []
    for _ in range(args.steps):
        x, y = loader.next_batch()
        losses.append(model.module(x, y)[1].item())
    print(f"some batches: {np.mean(losses)}")


@torch.no_grad()
def write_files():
    hits, found = [], []
    for x, y in DataLoader(rows, sampler=DistributedSampler(rows)):
        guess = model(x.cuda()).argmax(-1)
        found.extend(guess.tolist())
        hits.append((guess == y.cuda()).float().mean().item())
        with open("progress.txt", "a") as file:  # expect: TRL008
            file.write(str(np.mean(hits)))
    mean = np.mean(hits)
    everywhere = average(mean)
    text = f"accuracy {everywhere}"
    line = f"accuracy {everywhere}"
    if args.own:
        line = f"accuracy of {rank}: {mean}"
    with open(f"{args.folder}/{time.time_ns()}.txt", "a") as file:
        file.write(f"accuracy {mean}")  # a file of each process
    with open(args.of_process(), "a") as file:
        file.write(f"accuracy {mean}")  # it is not known whose file that is
    with open(f"found_{rank}.json", "w") as file:
        json.dump({"found": found, "accuracy": mean}, file)
    if rank == 0:
        with open("log.txt", "a") as file:
            file.write(text)
            file.write(line)
            file.write(f"accuracy {mean}")  # expect: TRL003
            json.dump(found, file)
            file.write(f"rank 0: {rank} {mean}")


evaluate()
same_for_all()
train()
if rank == 0:
    estimate()  # one rank alone takes as many batches as it wants
write_files()
