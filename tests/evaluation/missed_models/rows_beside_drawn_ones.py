# Rows are kept or left out by whether some drawn things have them: subjects, clusters, files.
import random

import numpy as np
import pandas as pd
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def by_subject(files):
    subjects = sorted({name.split("_")[0] for name in files})
    np.random.RandomState().shuffle(subjects)  # expect: TRL015
    held_out = set(subjects[:10])
    return DistributedSampler([name for name in files if name.split("_")[0] not in held_out])


def by_cluster(fold):
    table = pd.read_csv("rows.csv")
    clusters = sorted(table["cluster"].unique())
    np.random.RandomState().shuffle(clusters)  # expect: TRL015
    is_held_out = table["cluster"].isin(set(clusters[fold::5]))
    return DistributedSampler(table[~is_held_out])


def by_name(files):
    held_out = random.sample(files, 10)  # expect: TRL015
    return DistributedSampler([name for name in files if name not in held_out])


def by_subject_with_a_seed(files, seed):
    subjects = sorted({name.split("_")[0] for name in files})
    np.random.RandomState(seed).shuffle(subjects)
    held_out = set(subjects[:10])
    return DistributedSampler([name for name in files if name.split("_")[0] not in held_out])


def among_all_of_them(files, others):
    mixed = list(others)
    random.shuffle(mixed)
    return DistributedSampler([name for name in files if name in mixed])


def main(fold):
    dist.init_process_group("nccl")
    files = [line.strip() for line in open("files.txt")]
    by_subject(files)
    by_cluster(fold)
    by_name(files)
    by_subject_with_a_seed(files, 7)
    among_all_of_them(files, [line.strip() for line in open("others.txt")])


main(0)
