# A model that is made, or wrapped, every few turns of a loop: other settings say when something else is done.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, grid):
        super().__init__()
        self.grid = grid
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)


def renewed(args):
    model = Net(args.grid)
    if args.multigpu:
        model = nn.DataParallel(model)
    for epoch in range(args.epochs):
        if args.renew_every and (epoch - 1) % args.renew_every == 0:
            model = Net(args.grid)
        train(model, args)
        if args.keep_every and epoch % args.keep_every == 0:
            keep(model, f"{epoch}.pt")


def keep(model, path):
    torch.save(model.state_dict(), path)
    print(model.grid.size)  # expect: TRL002


def every_few(args):
    model = Net(args.grid)
    for epoch in range(args.epochs):
        if epoch % args.every == 0:
            model = nn.DataParallel(Net(args.grid))
        else:
            model = Net(args.grid)
        train(model, args)
        if epoch % args.every == 1:
            print(model.grid.size)  # it is bare where the other test is true
        if epoch % args.every and args.shown:
            print(model.grid.size)


def train(model, args):
    optimizer = torch.optim.Adam(model.parameters())
    for x in args.rows:
        model(x).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    renewed(read_arguments())
    every_few(read_arguments())
