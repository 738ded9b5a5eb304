# A model is wrapped under two settings: where the code refuses one of them, it is bare, and after that as before.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, grid):
        super().__init__()
        self.grid = grid
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)


def main(args):
    model = Net(args.grid)
    if args.multigpu and torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    if args.copied:
        assert not args.multigpu, "not yet"
        print(model.grid.size)
    elif not args.multigpu:
        print(model.grid.size)
    train(model, args)
    print(model.grid.size)  # expect: TRL002


def train(model, args):
    optimizer = torch.optim.Adam(model.parameters())
    for x in args.rows:
        model(x).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main(read_arguments())
