# `len(None)` raises as `None[0]` does, on the ranks that have None.
import json

import torch.distributed as dist


def read():
    return json.load(open("rows.json")) if dist.get_rank() == 0 else None


def counts():
    rows = read()
    print(len(rows))  # expect: TRL017


def goes_through():
    rows = read()
    for row in sorted(rows):  # expect: TRL017
        print(row)


def asks_first():
    rows = read()
    print(str(rows), isinstance(rows, list), len(rows or []))
    print(len(rows) if rows is not None else 0)
    if rows:
        print(len(rows))
    if dist.get_rank() == 0:
        print(sum(rows))


def catches():
    rows = read()
    try:
        print(len(rows))
    except TypeError:
        print("none here")


dist.init_process_group("nccl")
counts()
goes_through()
asks_first()
catches()
