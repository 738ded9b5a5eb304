"""Two spirals with a small MLP and Accelerate; a tenth of the points is kept for validation."""

import argparse
import math

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def make_spirals(points_per_arm):
    t = torch.linspace(0.2, 1.0, points_per_arm)
    angle = 3 * math.pi * t
    arm = torch.stack([t * angle.cos(), t * angle.sin()], dim=1)
    points = torch.cat([arm, -arm])
    labels = torch.cat([torch.zeros(points_per_arm), torch.ones(points_per_arm)]).long()
    return TensorDataset(points, labels)


class MLP(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Dropout(0.05),
            nn.Linear(hidden, 2),
        )

    def forward(self, points):
        return self.layers(points)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points_per_arm", type=int, default=75)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--num_epochs", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    seed = args.seed

    accelerator = Accelerator()
    dataset = make_spirals(args.points_per_arm)
    num_valid = len(dataset) // 10
    train_set, valid_set = random_split(dataset, [len(dataset) - num_valid, num_valid])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=args.batch_size)

    set_seed(seed)
    model = MLP(args.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, valid_loader = accelerator.prepare(model, optimizer, train_loader, valid_loader)

    for epoch in range(args.num_epochs):
        model.train()
        for points, labels in train_loader:
            loss = nn.functional.cross_entropy(model(points), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

        model.eval()
        right = []
        for points, labels in valid_loader:
            with torch.no_grad():
                predictions = model(points).argmax(dim=-1)
            right.append(accelerator.gather_for_metrics(predictions == labels))
        accuracy = torch.cat(right).float().mean().item()
        accelerator.print(f"epoch {epoch}: validation accuracy {accuracy:.3f}")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), "spirals.pt")


if __name__ == "__main__":
    main()
