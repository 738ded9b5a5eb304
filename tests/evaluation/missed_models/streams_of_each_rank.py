# The batches of a data set that picks rows by the number of the rank are this rank's own.
import os

import torch
import torch.distributed as dist
import wandb
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

dist.init_process_group("nccl")
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Files(IterableDataset):
    def __init__(self, files, place, places):
        self.files, self.place, self.places = files, place, places

    def mine(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        return self.files[self.place * workers + worker :: self.places * workers]

    def __iter__(self):
        for path in self.mine():
            yield from torch.load(path)


class Windows(IterableDataset):
    def __init__(self, tokens, place, places):
        self.tokens = tokens
        self.places = places
        self.next = place

    def __iter__(self):
        while self.next < len(self.tokens):
            start = self.next
            self.next += self.places
            yield self.tokens[start]


class Asking(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        for i, row in enumerate(self.rows):
            if i % dist.get_world_size() == dist.get_rank():
                yield row


class AskingFirst(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        rank, size = dist.get_rank(), dist.get_world_size()
        info = get_worker_info()
        workers, worker = (info.num_workers, info.id) if info else (1, 0)
        for row in self.rows[rank * workers + worker :: size * workers]:
            yield row


class Whole(IterableDataset):
    def __init__(self, rows, place):
        self.rows = rows
        self.place = place

    def __iter__(self):
        print(f"rank {self.place} reads {len(self.rows)} rows")
        for start in range(0, len(self.rows), 2):
            yield self.rows[start::2]


def batches_of(rows):
    return DataLoader(rows, batch_size=2, num_workers=2)


@torch.no_grad()
def evaluate(model, paths, rows):
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("data", "tensor"))
    total = torch.zeros((), device="cuda")
    for batch in batches_of(Files(paths, mesh["data"].get_local_rank(), mesh["data"].size())):
        total += model(batch).mean()
    windows = torch.zeros((), device="cuda")
    for batch in batches_of(Windows(rows, rank, size)):
        windows += model(batch).mean()
    asked = torch.zeros((), device="cuda")
    for batch in batches_of(Asking(rows)):
        asked += model(batch).mean()
    first = torch.zeros((), device="cuda")
    for batch in batches_of(AskingFirst(rows)):
        first += model(batch).mean()
    whole = torch.zeros((), device="cuda")
    for batch in batches_of(Whole(rows, rank)):
        whole += model(batch).mean()
    together = torch.zeros((), device="cuda")
    for batch in batches_of(Asking(rows)):
        together += model(batch).mean()
    dist.all_reduce(together, op=dist.ReduceOp.AVG)
    if rank == 0:
        wandb.log({"files": total})  # expect: TRL003
        wandb.log({"windows": windows})  # expect: TRL003
        wandb.log({"asked": asked})  # expect: TRL003
        wandb.log({"first": first})  # expect: TRL003
        wandb.log({"whole": whole})
        wandb.log({"together": together})


def train(net, rows):
    model = DDP(net)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches_of(Windows(rows, rank, size)):
        loss = model(batch).mean()
        if not torch.isfinite(loss):
            continue  # expect: TRL006
        loss.backward()
        optimizer.step()
    evaluate(model, ["a", "b"], rows)


train(torch.nn.Linear(4, 1).cuda(), torch.ones(9, 4))
