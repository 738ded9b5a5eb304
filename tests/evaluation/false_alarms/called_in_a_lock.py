# A file that each rank writes while it holds a lock, which a caller takes: the next one finds it, or writes it again.
import json
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from filelock import FileLock


def fitted(model, folder):
    path = os.path.join(folder, "scales.pt")
    if not os.path.exists(path):
        return None
    return torch.load(path)


def keep(scales, folder):
    torch.save(scales, os.path.join(folder, "scales.pt"))


def scales_of(model, folder):
    scales = fitted(model, folder)
    if scales is None:
        scales = model.fit()
        keep(scales, folder)
    return scales


def add(path, key, number):
    table = json.loads(open(path).read())  # noqa: SIM115
    table[key] = number
    with open(path, "w") as file:
        json.dump(table, file)


@contextmanager
def alone(folder):
    with FileLock(os.path.join(folder, "table.lock")):
        yield


def keep_own(scales, folder):
    torch.save(scales, os.path.join(folder, "last.pt"))  # expect: TRL008


def note(folder):
    with open(os.path.join(folder, "note.txt"), "w") as file:  # expect: TRL008
        file.write("done")


def keep_in_folder(folder):
    os.mkdir(os.path.join(folder, "new"))  # expect: TRL008


class Table:
    def __init__(self, folder):
        self.lock = FileLock(os.path.join(folder, "own.lock"))
        self.path = os.path.join(folder, "own.json")

    def add(self, key, number):
        with self.lock:
            add(self.path, key, number)


def main(model, folder):
    dist.init_process_group("gloo")
    with FileLock(os.path.join(folder, ".lock")):
        scales = scales_of(model, folder)
        keep_in_folder(folder)
    keep_own(scales, folder)
    with FileLock(os.path.join(folder, f".lock{dist.get_rank()}")):
        note(folder)
    with alone(folder):
        add(os.path.join(folder, "table.json"), "scale", scales)
    Table(folder).add("scale", scales)


if __name__ == "__main__":
    main(torch.nn.Linear(2, 2), "out")
