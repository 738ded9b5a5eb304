"""Image classifier on synthetic stripes with Accelerate; keeps the weights of the best epoch."""

import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_stripes(count, seed):
    """Images with horizontal (0) or vertical (1) stripes under noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 2, (count,), generator=generator)
    wave = torch.sin(torch.arange(12) * 1.3)
    horizontal, vertical = wave[:, None].expand(12, 12), wave[None, :].expand(12, 12)
    images = torch.where(labels[:, None, None] == 1, vertical, horizontal)
    images = images + 1.5 * torch.randn(count, 12, 12, generator=generator)
    return TensorDataset(images[:, None], labels)


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(8 * 36, 2),
    )


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    right, total = 0, 0
    for images, labels in loader:
        predictions = model(images).argmax(dim=-1)
        predictions, labels = accelerator.gather_for_metrics((predictions, labels))
        right += (predictions == labels).sum().item()
        total += len(labels)
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", type=str, default="stripes")
    parser.add_argument("--num_epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=10)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    accelerator = Accelerator()
    set_seed(6)
    os.makedirs(args.output_dir, exist_ok=True)

    train_loader = DataLoader(make_stripes(130, 0), batch_size=args.batch_size, shuffle=True)
    eval_loader = DataLoader(make_stripes(45, 1), batch_size=args.batch_size)
    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)

    best = -1.0
    for epoch in range(args.num_epochs):
        model.train()
        for images, labels in train_loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

        accuracy = evaluate(accelerator, model, eval_loader)
        accelerator.print(f"epoch {epoch}: accuracy {accuracy:.3f}")
        if accuracy > best:
            best = accuracy
            state = {"model": accelerator.unwrap_model(model).state_dict(), "epoch": epoch, "accuracy": accuracy}
            torch.save(state, os.path.join(args.output_dir, "best.pt"))

    accelerator.print(f"best accuracy {best:.3f}")


if __name__ == "__main__":
    main()
