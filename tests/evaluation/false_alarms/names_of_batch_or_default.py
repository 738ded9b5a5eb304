# Names that come with this rank's batch: those made where none are given say nothing of them.
import os

import matplotlib.pyplot as plt
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset


class Files(IterableDataset):
    def __init__(self, paths, rank, world_size):
        self.paths = paths[rank::world_size]

    def __iter__(self):
        for path in self.paths:
            yield {"file_name": path, "data": [0, 1]}


def plot(data, names=None):
    if names is None:
        names = [f"{i:03d}" for i in range(len(data))]
    for i in range(len(data)):
        plt.savefig(os.path.join("out", names[i] + ".png"))


def plot_numbered(data, names=None):
    if names is None:
        names = ["first", "second"]
    plt.savefig(os.path.join("out", names[0] + ".png"))  # expect: TRL008


def main(paths):
    dist.init_process_group("nccl")
    data = Files(paths, dist.get_rank(), dist.get_world_size())
    for meta in DataLoader(data, batch_size=1):
        plot(meta["data"], meta["file_name"])
        plot_numbered(meta["data"])


main(os.listdir("in"))
