# What an object gets back of what it has saved of itself: as different between ranks as without an earlier run.
import os
import pickle

import torch
import torch.distributed as dist
from accelerate import Accelerator
from mine import kept, opponents


class Shards:
    def __init__(self, rows, batch, rank, size):
        self.rows, self.batch, self.rank, self.size = rows, batch, rank, size
        self.position = batch * rank
        self.turn = batch * rank
        self.end = batch * rank

    def state_dict(self):
        return {"position": self.position, "turn": self.turn, "rows": len(self.rows)}

    def load_state_dict(self, state):
        self.position = state["position"]
        self.turn = state.get("turns")  # another entry
        self.end = state["rows"]

    def next(self):
        self.position += self.batch * self.size
        if self.position > 9000:
            dist.broadcast_object_list([self.rows], src=0)  # expect: TRL006
        if self.turn > 9000:
            dist.broadcast_object_list([self.rows], src=0)
        if self.end > 9000:
            dist.broadcast_object_list([self.rows], src=0)


def train(rows, batch, steps, state):
    dist.init_process_group("nccl")
    shards = Shards(rows, batch, dist.get_rank(), dist.get_world_size())
    if state is not None:
        shards.load_state_dict(torch.load(state))
    for _ in range(steps):
        shards.next()


class Buffer:
    def __init__(self):
        self.rows, self.others, self.own = [], [], []
        self.next = 0

    def add(self, row):
        self.rows.append(row)

    def add_other(self, row):
        self.others.append(row)

    def add_own(self, row):
        self.own.append(row)

    def save(self, path):
        kept_rows = list(self.rows)
        with open(path, "wb") as file:
            pickle.dump((kept_rows, self.others, self.next), file)

    def load(self, path):
        if os.path.exists(path):
            with open(path, "rb") as file:
                rows, others, self.next = pickle.load(file)
                self.rows = rows[:9]
                self.others = others
        self.own = kept()  # of another kind, for all that is known


class Player:
    def __init__(self, path):
        self.accelerator = Accelerator()
        self.buffer = Buffer()
        self.buffer.load(path)

    def play(self, steps):
        for _ in range(steps):
            self.buffer.add_other(opponents())
            if self.accelerator.is_main_process:
                self.buffer.add(opponents())
                self.buffer.add_own(opponents())
            if not self.buffer.others or not self.buffer.own:
                continue
            if len(self.buffer.rows) < 4:
                continue  # expect: TRL006
            self.accelerator.wait_for_everyone()


Player("rows.pkl").play(8)
