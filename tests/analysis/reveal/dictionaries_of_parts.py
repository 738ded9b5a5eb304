"""Dictionaries with some entries that differ between ranks, and their length; outputs with added parts."""

import torch
from accelerate import Accelerator
from transformers import AutoModel


def evaluated(accelerator, model, loader):
    found = {}
    for batch in loader:
        loss = model(**batch).loss
        found["all"] = accelerator.gather(loss).mean().item()
        found["own"] = loss.item()
    return found


def main(args, rows, name):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(AutoModel.from_pretrained("x"), torch.utils.data.DataLoader(rows))
    found = evaluated(accelerator, model, loader)
    reveal_rank(found["own"])  # revealed: local(data)
    reveal_rank(found["all"])  # revealed: same
    reveal_rank(found[name])  # revealed: unknown
    reveal_rank(found[args.metric])  # revealed: unknown
    reveal_rank(found.get(args.metric))  # revealed: unknown
    own = {"a": found["own"], "b": found["own"]}
    reveal_rank(own[args.metric])  # revealed: local(data)

    counts, plain = {}, {"a": 1}
    if accelerator.is_main_process:
        counts["a"] = 1
        plain["a"] = 2
    reveal_rank(len(counts))  # revealed: partial(count)
    reveal_rank(len(plain))  # revealed: same
    several = {}
    if accelerator.process_index == 0:
        several.update(a=1)
    reveal_rank(len(several))  # revealed: partial(count)
    if args.more:
        plain["b"] = 1
    reveal_rank(len(plain))  # revealed: same
    if accelerator.is_main_process:
        made = {"a": 1}
    else:
        made = {}
    reveal_rank(len(made))  # revealed: partial(count)

    for batch in loader:
        outputs = model(**batch)
        reveal_rank(outputs.loss)  # revealed: local(data)
        outputs.loss = accelerator.gather(outputs.loss).mean()
        reveal_rank(outputs.loss)  # revealed: same
        reveal_rank(outputs["loss"])  # revealed: same
        reveal_rank(outputs.logits)  # revealed: shard


if __name__ == "__main__":
    main(*load())
