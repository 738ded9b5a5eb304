# Rows that are picked at places which each rank has drawn, and what is made of them, before each takes its share.
import json
import sys

import numpy as np
import pandas as pd
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def split(rows, fraction):
    places = list(range(len(rows)))
    rng = np.random.default_rng()
    rng.shuffle(places)  # expect: TRL015
    count = int(fraction * len(rows))
    return [rows[i] for i in places[count:]], [rows[i] for i in places[:count]]


def split_with_a_seed(rows, fraction, seed):
    places = list(range(len(rows)))
    rng = np.random.default_rng(seed)
    rng.shuffle(places)
    count = int(fraction * len(rows))
    return [rows[i] for i in places[count:]], [rows[i] for i in places[:count]]


def made_of_a_split(files):
    if len(sys.argv) > 2:
        chosen = files
    else:
        chosen, _ = split(files, 0.1)
    return DataLoader(chosen, sampler=DistributedSampler([json.load(open(name)) for name in chosen]))


def made_of_a_seeded_split(files):
    chosen, _ = split_with_a_seed(files, 0.1, 3)
    return DataLoader(chosen, sampler=DistributedSampler([json.load(open(name)) for name in chosen]))


def rows_with_entries(files):
    rows = [{"image": name, "label": name.split("/")[0]} for name in files]
    places = list(range(len(rows)))
    np.random.default_rng().shuffle(places)  # expect: TRL015
    return DistributedSampler([rows[i] for i in places])


def rows_of_a_table():
    table = pd.read_csv("rows.csv")
    places = list(range(len(table)))
    np.random.default_rng().shuffle(places)  # expect: TRL015
    return DistributedSampler(table.iloc[places])


def as_many_as_were_drawn(files):
    places = list(range(len(files)))
    np.random.default_rng().shuffle(places)
    return DistributedSampler([files[k] for k, _ in enumerate(places)])


def main():
    dist.init_process_group("nccl")
    files = [line.strip() for line in open("files.txt")]
    made_of_a_split(files)
    made_of_a_seeded_split(files)
    rows_with_entries(files)
    rows_of_a_table()
    as_many_as_were_drawn(files)


if __name__ == "__main__":
    main()
