"""Keys of dicts that are not constants: the same on all ranks if their parts are."""

from collections import defaultdict

import torch
from accelerate import Accelerator

accelerator = Accelerator()
loader = accelerator.prepare(torch.utils.data.DataLoader([1, 2]))


def walk(table):
    for key in table:
        reveal_rank(key)  # revealed: local(data) | same


for batch in loader:
    ids = batch["id"].tolist()
    made = {sample: 1 for sample in ids}
    for key, value in made.items():
        reveal_rank(key)  # revealed: local(data)
        reveal_rank(value)  # revealed: same
    filled = {}
    filled[f"sample_{ids[0]}"] = 1
    filled["mean"] = 2
    for key in filled:
        reveal_rank(key)  # revealed: local(data) | same
    grouped = defaultdict(list)
    grouped[ids[0]].append(1)
    reveal_rank(list(grouped)[0])  # revealed: local(data)
    reveal_rank(list(dict(zip(ids, ids)))[0])  # revealed: local(data)
    reveal_rank(list(dict.fromkeys(ids).keys())[0])  # revealed: local(data)
    both = {**made, "mean": 1}
    for key in both:
        reveal_rank(key)  # revealed: local(data) | same
    for key in sorted({str(number): 1 for number in range(4)}):
        reveal_rank(key)  # revealed: same
    walk(made)
    walk({"a": 1})
