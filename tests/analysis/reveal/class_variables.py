"""A method knows what a container of its class holds, unless code of the file changes it.

A name that the branches of a condition assign in the body of a class is what one of them gives it.
"""

import os


class Launch:
    env = {name: os.environ[name] for name in ("RANK", "WORLD_SIZE") if name in os.environ}
    own = {"rank": os.environ["RANK"], "name": "run"}
    changed = {"rank": 0}
    filled = {}

    def start(self, rank):
        self.changed["rank"] = rank
        self.filled.update(rank=rank)

    def show(self):
        reveal_rank(self.env["RANK"])  # revealed: local(rank)
        reveal_rank(self.env.get("RANK", 0))  # revealed: local(rank)
        reveal_rank(self.env.get("WORLD_SIZE", 1))  # revealed: same
        reveal_rank(self.own["name"])  # revealed: same
        reveal_rank(self.own.get("rank"))  # revealed: local(rank)
        reveal_rank(self.changed.get("rank", 0))  # revealed: unknown
        reveal_rank(self.filled.get("rank", 0))  # revealed: unknown


class Task(Launch):
    @property
    def is_first(self):
        return int(self.env.get("RANK", 0)) == 0


def run(task: Task):
    reveal_rank(task.is_first)  # revealed: local(rank)
    reveal_rank(Launch.own["rank"])  # revealed: local(rank)


class Places:
    is_slurm = "SLURM_PROCID" in os.environ
    if is_slurm:
        rank = int(os.environ["SLURM_PROCID"])
        size = int(os.environ["SLURM_NTASKS"])
        folder = "slurm"
    else:
        rank = int(os.environ["RANK"])
        size = int(os.environ["WORLD_SIZE"])
        folder = "local"
    if int(os.environ["RANK"]) == 0:
        note = "first"
    else:
        note = "other"


def place():
    reveal_rank(Places.rank)  # revealed: local(rank)
    reveal_rank(Places.size)  # revealed: same
    reveal_rank(Places.folder)  # revealed: same
    reveal_rank(Places.note)  # revealed: unknown
