"""Sets that only some ranks have filled: whether something is in them differs between ranks."""

import csv

import torch
import torch.distributed as dist


class Journal:
    def __init__(self, path, enabled):
        self.path = path
        self.enabled = enabled
        self.steps = set()
        if self.enabled:
            self._read()

    def _read(self):
        with open(self.path) as file:
            for row in csv.DictReader(file):
                self.steps.add(int(row["step"]))

    def append(self, rows):
        if not self.enabled:
            return
        self.steps.update(row["step"] for row in rows)

    def has(self, step):
        return step in self.steps


class JournalOfAll(Journal):
    def __init__(self, path):
        super().__init__(path, True)


def total():
    ones = torch.ones(1, device="cuda")
    dist.all_reduce(ones)
    return ones


def left_where_it_was_done(step):
    journal = Journal("metrics.csv", dist.get_rank() == 0)
    if journal.has(step):
        return None  # expect: TRL006
    return total()


def left_where_it_was_written(step, rows):
    journal = Journal("metrics.csv", dist.get_rank() == 0)
    for row in rows:
        total()
        journal.append([row])
    if journal.has(step):
        return None  # expect: TRL006
    return total()


def left_by_all(step):
    journal = JournalOfAll("metrics.csv")
    if journal.has(step):
        return None
    return total()


def left_out_by_a_list(step):
    done = []
    if dist.get_rank() == 0:
        done.append(0)
    if step not in done:
        return total()  # expect: TRL006
    return None


def of_a_dict(name):
    losses = {}
    if dist.get_rank() == 0:
        losses["best"] = 0.5
    if "best" in losses:
        return total()  # expect: TRL006
    return None


def sent_to_all(step):
    done = []
    if dist.get_rank() == 0:
        done.append(0)
    sent = [done]
    dist.broadcast_object_list(sent)
    if step in sent[0]:
        return None
    return total()


def asked_on_the_one(step):
    done = set()
    for _ in range(4):
        if dist.get_rank() == 0:
            if step in done:
                continue
            done.add(step)
    return total()


def updated_by_all(step, others):
    done = set()
    done.update(others)
    if dist.get_rank() == 0:
        print(len(done))
    if step in done:
        return None
    return total()


def filled_by_all(step):
    done = {0}
    if dist.get_rank() == 0:
        done.add(1)
    if 0 in done:
        return None
    return total()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    left_where_it_was_done(4)
    left_where_it_was_written(4, [{"step": 3}])
    left_by_all(4)
    left_out_by_a_list(4)
    of_a_dict("best")
    sent_to_all(4)
    asked_on_the_one(4)
    updated_by_all(4, [3])
    filled_by_all(4)
