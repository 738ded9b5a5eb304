"""`from … import *` of a library imports the names in the tables, unless the file defines them."""

from somebodys.helpers import *
from torch.distributed import *
from transformers.trainer import *


def broadcast(x):
    return x


class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        loss = model(**inputs).loss
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(get_rank())  # revealed: local(rank)
        reveal_rank(broadcast(loss))  # revealed: local(data)
        all_reduce(loss)
        reveal_rank(loss)  # revealed: same
        reveal_rank(get_something())  # revealed: unknown
        reveal_rank(get_global_rank())  # revealed: local(rank)
        return loss
