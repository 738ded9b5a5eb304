import json

from accelerate import Accelerator
from mine import batch


class Counts:
    def __init__(self, process):
        self.offset = batch * process
        self.first = batch * 0
        self.seen = 0

    def save(self, path):
        json.dump({"offset": self.offset, "seen": self.seen}, open(path, "w"))

    def load(self, path):
        state = json.load(open(path))
        self.offset = state["offset"]
        self.seen = state["seen"]

    def read(self):
        reveal_rank(self.offset)  # revealed: local(rank)
        reveal_rank(self.first)  # revealed: same
        reveal_rank(self.seen)  # revealed: unknown


counts = Counts(Accelerator().process_index)
counts.load("counts.json")
counts.read()
