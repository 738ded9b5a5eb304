# Metrics of an evaluation of batches that are asked for, printed by helpers and written by hand.
import csv
import json
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from mine import GPT, get_options, read_tokens, rows

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
args = get_options()


class TokenLoader:
    def __init__(self, files, batch, length):
        self.batch, self.length = batch, length
        self.tokens = read_tokens(files)
        self.reset()

    def reset(self):
        self.position = rank * self.batch * self.length

    def next_batch(self):
        buffer = self.tokens[self.position : self.position + self.batch * self.length + 1]
        buffer = torch.tensor(buffer.astype(np.int32), dtype=torch.long)
        x, y = buffer[:-1].view(self.batch, self.length), buffer[1:].view(self.batch, self.length)
        self.position += self.batch * self.length * size
        return x.cuda(), y.cuda()


def print0(*texts, **options):
    if int(os.environ.get("RANK", 0)) == 0:
        print(*texts, **options)


def log(text):
    if rank == 0:
        with open(os.path.join(args.output, "log.txt"), "a") as file:
            print(text, file=file)


def log_all(name, value):
    log(f"{name}: {value}")


model = DDP(GPT(args).cuda())
loader = TokenLoader(args.files, args.batch, args.length)


def evaluate_tokens(step):
    model.eval()
    loader.reset()
    with torch.no_grad():
        val_loss = 0.0
        for _ in range(args.steps):
            x, y = loader.next_batch()
            _, loss = model(x, y, return_logits=False)
            val_loss += loss.item()
        val_loss /= args.steps
    print0(f"val loss {val_loss}")  # expect: TRL003
    if rank == 0:
        with open(args.log, "a") as file:
            file.write("s:%d tel:%f\n" % (step, val_loss))


def evaluate_for_log():
    val_loss = torch.zeros((), device="cuda")
    count = 0
    with torch.no_grad():
        while count < args.steps:
            x, y = loader.next_batch()
            val_loss += model(x, y)[1].detach() / args.steps
            count += 1
    log(f"val {val_loss.item():.4f}")  # expect: TRL003


def evaluate_by_name():
    losses = []
    with torch.inference_mode():
        for _ in range(20):
            x, y = loader.next_batch()
            losses.append(model(x, targets=y)[1].item())
    log_all("val", np.mean(losses))  # expect: TRL003


@torch.no_grad()
def evaluate_next():
    batches = iter(DataLoader(rows, sampler=DistributedSampler(rows)))
    losses = []
    for _ in range(args.steps):
        losses.append(model(next(batches)).loss.item())
    print(sum(losses) / len(losses))  # expect: TRL003


val = DataLoader(rows, sampler=DistributedSampler(rows))


@torch.no_grad()
def to_file():
    hits = []
    for x, y in val:
        hits.append((model(x.cuda()).argmax(-1) == y.cuda()).float().mean().item())
    mean = sum(hits) / len(hits)
    line = f"accuracy {mean:.3f}"
    with open("log.txt", "a") as file:
        file.write(line + "\n")  # expect: TRL003


@torch.no_grad()
def to_json():
    hits = []
    for x, y in val:
        hits.append((model(x.cuda()).argmax(-1) == y.cuda()).float().mean().item())
    mean = sum(hits) / len(hits)
    figures = {"accuracy": mean, "rows": len(rows)}
    if rank == 0:
        with open(f"{args.output}/figures.json", "w") as file:
            json.dump(figures, file)  # expect: TRL003


@torch.no_grad()
def to_text():
    hits = []
    for x, y in val:
        hits.append((model(x.cuda()).argmax(-1) == y.cuda()).float().mean().item())
    mean = sum(hits) / len(hits)
    if rank == 0:
        Path(args.output, "figures.json").write_text(json.dumps({"accuracy": mean}))  # expect: TRL003


@torch.no_grad()
def to_table(epoch):
    hits = []
    for x, y in val:
        hits.append((model(x.cuda()).argmax(-1) == y.cuda()).float().mean().item())
    mean = sum(hits) / len(hits)
    if rank == 0:
        with open("table.csv", "a") as file:
            writer = csv.writer(file)
            writer.writerow([epoch, mean])  # expect: TRL003


@torch.no_grad()
def once():
    hits = []
    for x, y in val:
        hits.append((model(x.cuda()).argmax(-1) == y.cuda()).float().mean().item())
    mean = sum(hits) / len(hits)
    print(f"accuracy {100 * mean:.2f} %")  # expect: TRL003
    print0(mean)
    if rank == 0:
        with open("log.txt", "a") as file:
            file.write(str(mean))


def train_and_evaluate(batches, optimizer):
    for step, (x, y) in enumerate(batches):
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        if step % args.every == 0:
            shown = loss.detach().clone()
            dist.all_reduce(shown, op=dist.ReduceOp.AVG)
            print0(step, shown.item())
    hits = torch.zeros(2, device="cuda")
    with torch.no_grad():
        for x, y in val:
            hits[0] += (model(x.cuda()).argmax(-1) == y.cuda()).sum()
            hits[1] += len(y)
    print0((hits[0] / hits[1]).item())  # expect: TRL003


def train_and_reduce(batches, optimizer):
    for x, y in batches:
        torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
    hits = torch.zeros(2, device="cuda")
    with torch.no_grad():
        for x, y in val:
            hits[0] += (model(x.cuda()).argmax(-1) == y.cuda()).sum()
            hits[1] += len(y)
    if args.distributed:
        dist.all_reduce(hits)
    print0((hits[0] / hits[1]).item())


evaluate_tokens(1)
evaluate_for_log()
evaluate_by_name()
evaluate_next()
to_file()
to_json()
to_text()
to_table(1)
once()
train_and_evaluate(loader, args.optimizer)
train_and_reduce(loader, args.optimizer)
