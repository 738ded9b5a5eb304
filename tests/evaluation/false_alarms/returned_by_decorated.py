# What a function returns that a decorator runs on one rank only, the others get as None.
import functools
import io

import torch.distributed as dist
from accelerate import Accelerator
from lightning.pytorch.loggers.logger import rank_zero_experiment
from lightning.pytorch.utilities import rank_zero_only

accelerator = Accelerator()


def main_process_only(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args) if dist.get_rank() == 0 else io.StringIO()

    return inner


@rank_zero_only
def find_folder(root):
    return root / "first"


@accelerator.on_main_process
def open_log(path):
    return open(path, "w")


@main_process_only
def open_stand_in(path):
    return open(path, "w")


@rank_zero_only
def clear(rows):
    rows.clear()


class Recorder:
    @property
    @rank_zero_experiment
    def experiment(self):
        return open("rows.txt", "a")

    @rank_zero_only
    def count(self):
        return [1, 2]


def used_by_all(root):
    dist.barrier()
    print(find_folder(root).name)  # expect: TRL017


def log_used_by_all(path):
    dist.barrier()
    log = open_log(path)
    log.write("row")  # expect: TRL017


def method_used_by_all(recorder: Recorder):
    dist.barrier()
    print(recorder.count()[0])  # expect: TRL017


def asked_first(root, path):
    dist.barrier()
    folder = find_folder(root)
    if folder is not None:
        print(folder.name)
    log = open_log(path)
    if accelerator.is_main_process:
        log.write("row")
    print(find_folder(root))


def passed_to_all(root):
    dist.barrier()
    folder = [find_folder(root)]
    dist.broadcast_object_list(folder, src=0)
    print(folder[0].name)


def stand_ins(path, rows):
    dist.barrier()
    open_stand_in(path).write("row")
    Recorder().experiment.write("row")
    clear(rows)
    return rows
