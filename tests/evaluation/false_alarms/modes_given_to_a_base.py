# What the `__init__` of a base is given, and sets, decides what the one above it does: read rows write nothing.
import json
import os

import torch
import torch.distributed as dist
from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, folder, epoch=None, mode="w"):
        self.mode = mode
        self.path = os.path.join(folder, "rows.json")

    @classmethod
    def load(cls, folder, **kwargs):
        return cls(folder, mode="r", **kwargs)


class Read(Rows):
    def __init__(self, folder, size=None, mode="w"):
        super().__init__(folder, None, mode)
        if self.mode == "w":
            self.write()

    def write(self):
        with open(self.path, "w") as file:
            json.dump({"rows": 1}, file)


class Written(Rows):
    def __init__(self, folder, size=None, mode="r"):
        super().__init__(folder, None, mode)
        if self.mode == "w":
            self.write()

    def write(self):
        with open(self.path, "w") as file:  # expect: TRL008
            json.dump({"rows": 1}, file)


class Replaced(Rows):
    def __init__(self, folder, size=None, mode="w"):
        super().__init__(folder, None, mode)
        self.mode = "w"
        if self.mode == "w":
            self.write()

    def write(self):
        with open(self.path, "w") as file:  # expect: TRL008
            json.dump({"rows": 1}, file)


def main(folder):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    for rows in (Read.load(folder, size=3), Written(folder, mode="w"), Replaced.load(folder)):
        model(rows[0])


if __name__ == "__main__":
    main("rows")
