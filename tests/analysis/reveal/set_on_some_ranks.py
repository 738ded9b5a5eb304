"""An attribute set on some ranks only: the others keep the earlier value, whether that was read or not."""

from accelerate import Accelerator
from torch.utils.data import DataLoader


class Stopping:
    def __init__(self, patience):
        self.patience = patience
        self.counter = 0
        self.best = 0.0
        self.stops = False
        self.asked = False
        self.seen = False

    def __call__(self, loss):
        if loss < self.best:
            self.counter += 1
            if self.counter >= self.patience:
                self.stops = True
        else:
            self.best = loss
            self.keep()  # a call on it hides none of the assignments above
        if self.patience > 3:
            self.seen = True

    def keep(self):
        self.asked = True


def train(model, data, own_data):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data))
    alike, apart = Stopping(7), Stopping(7)
    for batch in loader:
        loss = model(**batch).loss.mean().item()
        apart(loss)
        reveal_rank(apart.stops)  # revealed: local(data)
        reveal_rank(apart.counter)  # revealed: local(data)
        reveal_rank(apart.best)  # revealed: local(data)
        reveal_rank(apart.seen)  # revealed: same
        alike(accelerator.gather(model(**batch).loss).mean().item())
        reveal_rank(alike.stops)  # revealed: same
        reveal_rank(alike.counter)  # revealed: same
        reveal_rank(alike.seen)  # revealed: same


class Patience:
    """What is set behind an early return of some ranks."""

    def __init__(self, every):
        self.every = every
        self.bad, self.seen, self.late, self.best = 0, 0, 0, None

    def validated(self, model):
        if not accelerator.is_main_process:
            return None
        return {"score": model(1)}

    def metrics(self, model, epoch):
        found = None
        if epoch % self.every == 0:
            found = self.validated(model)
        reveal_rank(found)  # revealed: local(rank)
        return 1.0, found

    def update(self, metrics, epoch):
        self.seen += 1
        if epoch > self.every:
            return
        self.late += 1
        if not metrics:
            return
        self.bad += 1
        self.best = metrics

    def run(self, model):
        _, metrics = self.metrics(model, 3)
        reveal_rank(metrics)  # revealed: local(rank)
        self.update(metrics, 3)
        reveal_rank(self.bad)  # revealed: local(rank)
        reveal_rank(self.seen)  # revealed: same
        reveal_rank(self.late)  # revealed: same
