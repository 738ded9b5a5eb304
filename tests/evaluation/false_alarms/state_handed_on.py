# What one rank saves, and the others restore once they have waited for it, is the same on all of them.
import pickle

import torch.distributed as dist
from mine import found


class Index:
    def __init__(self):
        self.rows = []

    def add(self, row):
        self.rows.append(row)

    def keep(self, path):
        with open(path, "wb") as file:
            pickle.dump(self.rows, file)

    def take(self, path):
        with open(path, "rb") as file:
            self.rows = pickle.load(file)


class Table:
    def __init__(self):
        self.rows = []

    def add(self, row):
        self.rows.append(row)

    def write(self, path):
        with open(path, "wb") as file:
            pickle.dump(self.rows, file)

    def read(self, path):
        with open(path, "rb") as file:
            self.rows = pickle.load(file)


def made_by_first(path):
    index = Index()
    if dist.get_rank() == 0:
        for row in found():
            index.add(row)
        index.keep(path)
    dist.barrier()
    index.take(path)
    if not index.rows:
        return
    dist.barrier()


def added_by_first(path):
    table = Table()
    table.read(path)
    if dist.get_rank() == 0:
        for row in found():
            table.add(row)
    if not table.rows:
        return  # expect: TRL006
    dist.barrier()
    table.write(path)


def main():
    dist.init_process_group("nccl")
    made_by_first("index.pkl")
    added_by_first("table.pkl")


if __name__ == "__main__":
    main()
