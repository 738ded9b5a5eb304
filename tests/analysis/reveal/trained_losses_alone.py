"""Where no model is wrapped, nothing says that there are several ranks: a loss that is trained with is unknown."""

from somewhere import build, compute, rows
from torch.nn import DataParallel


class Job:
    def __init__(self, engine):
        self.engine = engine
        self.model = build()

    def train(self):
        for batch in rows():
            loss = self.engine.compute(batch)
            reveal_rank(loss)  # revealed: unknown
            loss.backward()


def by_one_process():
    model = DataParallel(build())
    for batch in rows():
        loss = compute(model, batch)
        reveal_rank(loss)  # revealed: unknown
        loss.backward()
