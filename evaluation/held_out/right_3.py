"""Accelerate: the main process draws a new order and a new split for each run, and hands them to the others."""

import argparse
import random

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def make_moons(count):
    generator = torch.Generator().manual_seed(0)
    angle = torch.rand(count, generator=generator) * torch.pi
    labels = torch.arange(count) % 2
    sign = 1 - 2 * labels
    points = torch.stack([angle.cos() + 0.5 * labels, sign * angle.sin() + 0.3 * labels], dim=1)
    return TensorDataset(points + 0.1 * torch.randn(count, 2, generator=generator), labels)


def draw_split(accelerator, size, valid_size):
    """Another split for each run, the same on all processes."""
    order = [list(range(size))]
    if accelerator.is_main_process:
        random.shuffle(order[0])
    broadcast_object_list(order)
    return order[0][valid_size:], order[0][:valid_size]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_points", type=int, default=130)
    parser.add_argument("--valid_points", type=int, default=21)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--max_epochs", type=int, default=4)
    parser.add_argument("--patience", type=int, default=2)
    args = parser.parse_args()

    accelerator = Accelerator()
    dataset = make_moons(args.num_points)
    train_rows, valid_rows = draw_split(accelerator, len(dataset), args.valid_points)
    # Already in random order
    train_loader = DataLoader(Subset(dataset, train_rows), batch_size=args.batch_size, shuffle=False)
    valid_loader = DataLoader(Subset(dataset, valid_rows), batch_size=args.batch_size)

    model = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model, optimizer, train_loader, valid_loader = accelerator.prepare(model, optimizer, train_loader, valid_loader)

    best, waited = float("inf"), 0
    for epoch in range(args.max_epochs):
        model.train()
        for points, labels in train_loader:
            loss = nn.functional.cross_entropy(model(points), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

        model.eval()
        losses = []
        for points, labels in valid_loader:
            with torch.no_grad():
                point_losses = nn.functional.cross_entropy(model(points), labels, reduction="none")
            losses.append(accelerator.gather_for_metrics(point_losses))
        valid_loss = torch.cat(losses).mean().item()
        accelerator.print(f"epoch {epoch}: validation loss {valid_loss:.4f}")

        # The loss is over all processes, so that all of them stop in the same epoch
        if valid_loss < best:
            best, waited = valid_loss, 0
        else:
            waited += 1
            if waited >= args.patience:
                accelerator.print("no longer getting better")
                break

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.save(accelerator.unwrap_model(model).state_dict(), "moons.pt")


if __name__ == "__main__":
    main()
