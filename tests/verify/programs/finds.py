"""A loop whose metric is that of one rank, and an evaluation that gathers a number, if it gets that far."""

import argparse

import torch
import wandb
from accelerate import Accelerator
from torch.utils.data import DataLoader


def evaluate(accelerator, model, rows):
    loss = model(rows).mean()
    return accelerator.gather(loss.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--eval-every", type=int, default=100)
    parser.add_argument("--equal", action="store_true")
    args = parser.parse_args()
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = torch.ones(8, 4) if args.equal else torch.arange(32.0).square().reshape(8, 4) / 1024
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows, batch_size=2))
    for step, batch in enumerate(loader, 1):
        loss = model(batch).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        error = (batch - batch.flip(0)).abs().mean()
        wandb.log({"error": error.item()})
        if step % args.eval_every == 0:
            evaluate(accelerator, model, batch)


main()
