"""A program that takes all names of both."""

import torch
from names_passed_on.base import *
from names_passed_on.places import *

model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
if is_wrapped(model):
    reveal_rank(1)  # revealed: same
else:
    reveal_rank(1)  # revealed: never
reveal_rank(Place().number)  # revealed: local(rank)
reveal_rank(get_nothing(1))  # revealed: unknown
