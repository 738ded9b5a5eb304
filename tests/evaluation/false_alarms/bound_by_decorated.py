# What a method binds that a decorator runs on one rank only, the others lack: where all use it, they fail.
import functools
import io

import torch
import torch.distributed as dist
from lightning.pytorch.utilities import rank_zero_only


def on_first(method):
    @functools.wraps(method)
    def inner(*args, **kwargs):
        if dist.get_rank() == 0:
            return method(*args, **kwargs)
        return None

    return inner


def timed(method):
    @functools.wraps(method)
    def inner(*args, **kwargs):
        print("starts")
        return method(*args, **kwargs)

    return inner


class Unbound:
    @rank_zero_only
    def start(self):
        self.rows = io.StringIO()

    @rank_zero_only
    def note(self, row):
        self.rows.write(row)

    def stop(self):
        self.rows.close()  # expect: TRL017


class NoneElsewhere:
    def __init__(self):
        self.rows = None

    @on_first
    def start(self):
        self.rows = io.StringIO()

    def note(self, row):
        self.rows.write(row)  # expect: TRL017

    def stop(self):
        if self.rows is not None:
            self.rows.close()


class Guarded:
    @on_first
    def start(self):
        self.rows = io.StringIO()

    def note(self, row):
        if dist.get_rank() == 0:
            self.rows.write(row)

    @on_first
    def stop(self):
        self._close()

    def _close(self):
        self.rows.close()


class BoundByAll:
    def __init__(self):
        self.count = 0
        self.rows = []
        self.start()

    @timed
    def start(self):
        self.note_taker = torch.nn.Linear(2, 2)

    @rank_zero_only
    def restart(self):
        self.rows = ["first"]
        self.count += 1

    def note(self, row):
        self.rows.append(row)
        self.note_taker(torch.ones(2))
        return self.count + 1


class BoundLater:
    @rank_zero_only
    def start(self):
        self.path = "rows.csv"

    def share(self, path):
        self.path = path

    def note(self):
        return self.path.upper()


class Asked:
    @rank_zero_only
    def start(self):
        self.rows = io.StringIO()

    def note(self, row):
        if hasattr(self, "rows"):
            self.rows.write(row)


def main(row):
    dist.init_process_group("nccl")
    for log in (Unbound(), NoneElsewhere(), Guarded()):
        log.start()
        log.note(row)
        log.stop()
    every = BoundByAll()
    every.restart()
    every.note(row)
    later = BoundLater()
    later.start()
    later.share(row)
    later.note()
    asked = Asked()
    asked.start()
    asked.note(row)


main("a,b")
