"""Methods that others of a class call: their arguments are known whatever the order in the class."""

from accelerate import Accelerator


class Mean:
    def __init__(self):
        self.total = 0.0

    def add(self, value):
        self.total += value


class Loop:
    def __init__(self, args):
        self.args = args
        self.mean = Mean()

    def validate(self, model, loader):
        for batch in loader:
            self.mean.add(model(batch).mean().item())
        reveal_rank(self.mean.total)  # revealed: local(data)

    def never_called(self, loader):
        for batch in loader:
            reveal_rank(batch)  # revealed: unknown

    def train(self, model, loader):
        accelerator = Accelerator()
        model, loader = accelerator.prepare(model, loader)
        for epoch in range(self.args.epochs):
            self.validate(model, loader)
