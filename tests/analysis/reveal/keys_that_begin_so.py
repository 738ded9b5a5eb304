"""Entries of a dict that are read by keys which are told by how they begin."""

from accelerate import Accelerator
from helpers import name_of

accelerator = Accelerator()
loader = accelerator.prepare(make_loader())

for turn, batch in enumerate(loader):
    found = {"loss_a": batch["x"].mean(), "count": 1.5, f"step_{turn}": turn, "rate": 0.1}
    for key in sorted(each for each in found):
        reveal_rank(found[key])  # revealed: local(data)
        if key.startswith("loss_"):
            reveal_rank(found[key])  # revealed: partial(mean)
        if key.startswith("r"):
            reveal_rank(found[key])  # revealed: same
        if key.startswith("step_3"):
            reveal_rank(found[key])  # revealed: same
        if key.startswith(("count", "loss")):
            reveal_rank(found[key])  # revealed: local(data)
        if key.startswith(name_of("count")):
            reveal_rank(found[key])  # revealed: local(data)
        if not key.startswith("count"):
            reveal_rank(found[key])  # revealed: local(data)
        reveal_rank(found[key])  # revealed: local(data)
    for key in sorted(each for each in found.keys() if each.startswith("ra")):
        reveal_rank(found[key])  # revealed: same
        reveal_rank(found.get(key, 0))  # revealed: same
    for key in sorted(each for each in found if each.startswith("lo")):
        reveal_rank(found.get(key, 0))  # revealed: local(data)
    added = {"kept": 1.5}
    added.update({"own": found["loss_a"]})
    for key in sorted(each for each in added):
        if key.startswith("k"):
            reveal_rank(added[key])  # revealed: same
        if key.startswith("o"):
            reveal_rank(added[key])  # revealed: partial(mean)
    added.update(batch)
    for key in sorted(each for each in added):
        if key.startswith("x"):
            reveal_rank(added[key])  # revealed: shard
        if key.startswith("k"):
            reveal_rank(added[key])  # revealed: local(data)
