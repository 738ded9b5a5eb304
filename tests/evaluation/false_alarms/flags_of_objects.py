# An object that is made with a flag off never does what its methods do if it is on.
import json
import os

import torch
import torch.distributed as dist


class Ranker:
    def __init__(self, model, folder=None, write=False):
        self.model = model
        self.folder = folder
        self.write = write

    def rank(self, rows, name="all"):
        scores = self.model(rows).tolist()
        if self.write:
            with open(os.path.join(self.folder, f"{name}.json"), "w") as file:
                json.dump(scores, file)
        return scores


class Writer:
    def __init__(self, folder, write=False):
        self.folder = folder
        self.write = write

    def put(self, scores):
        if self.write:
            with open(os.path.join(self.folder, "put.json"), "w") as file:  # expect: TRL008
                json.dump(scores, file)


class Switched:
    def __init__(self, folder, shown=False):
        self.folder = folder
        self.shown = shown

    def put(self, scores):
        if self.shown:
            with open(os.path.join(self.folder, "switched.json"), "w") as file:  # expect: TRL008
                json.dump(scores, file)


def score(rows, model, rank):
    scores = Ranker(model, write=False).rank(rows)
    with open(f"scores_{rank}.json", "w") as file:
        json.dump(scores, file)


def write(rows, model, rank, folder):
    Ranker(model, folder, write=True).rank(rows, name=f"part_{rank}")


def main(rows, folder):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    score(rows, model, rank)
    write(rows, model, rank, folder)
    Writer(folder).put([])
    Writer(folder, write=True).put([])
    switched = Switched(folder, shown=False)
    switched.shown = True
    switched.put([])


if __name__ == "__main__":
    main(torch.ones(4, 2), "scores")
