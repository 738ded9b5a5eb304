# The ranks that get None from a helper and use it fail there: they write nothing after it. Others write as before.
import os

import pandas as pd
import torch
import torch.distributed as dist


def gathered(rows):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, rows)
    if dist.get_rank() == 0:
        return parts


def table(parts):
    first = parts[0]  # expect: TRL017
    return pd.DataFrame(first)


def in_helper(rows):
    scores = table(gathered(rows))
    scores.to_csv("scores.csv")
    written(scores, "again.csv")


def written(scores, path):
    scores.to_csv(path)


def here(model, rows):
    parts = gathered(rows)
    parts.append(rows)  # expect: TRL017
    torch.save(model.state_dict(), "here.pt")


def left_before(rows):
    parts = gathered(rows)
    if parts is None:
        return
    pd.DataFrame(parts[0]).to_csv("left.csv")


def only_passed(rows):
    parts = gathered(rows)
    print(parts)
    pd.DataFrame(rows).to_csv("passed.csv")  # expect: TRL008


def used_sometimes(model, rows):
    parts = gathered(rows)
    if os.environ.get("SHOW"):
        print(parts[0])  # expect: TRL017
    torch.save(model.state_dict(), "sometimes.pt")  # expect: TRL008


def tried(model, rows):
    parts = gathered(rows)
    try:
        print(parts[0])
    except TypeError:
        print("elsewhere")
    torch.save(model.state_dict(), "tried.pt")  # expect: TRL008


def main(rows):
    dist.init_process_group("nccl")
    model = torch.nn.Linear(2, 2)
    only_passed(rows)
    used_sometimes(model, rows)
    tried(model, rows)
    left_before(rows)
    in_helper(rows)
    here(model, rows)


if __name__ == "__main__":
    main([])
