"""Objects that one program creates with the number of its process, and another one with something of its own."""

import os

import options


class Loop:
    pass


class Trainer(Loop):
    def __init__(self, rank, share, counted):
        self.rank = rank
        self.share = share
        self.counted = counted

    def renumber(self, rank):
        self.counted = rank

    def fit(self):
        reveal_rank(self.rank)  # revealed: local(rank)
        # Half of what it gives is no number of a process; and a number that is set later may be any.
        reveal_rank(self.share)  # revealed: unknown
        reveal_rank(self.counted)  # revealed: unknown


def train(batches):
    if "LOCAL_RANK" in os.environ:
        rank = int(os.environ["LOCAL_RANK"])
    else:
        rank = -1
    trainer = Trainer(rank, batches[0].shape[0] if rank < 2 else 3.0, rank)
    trainer.renumber(options.number())
    trainer.fit()


def search():
    trainer = Trainer(options.summarise(), options.summarise(), options.summarise())
    trainer.fit()
