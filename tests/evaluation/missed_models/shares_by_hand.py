# Rows that a rank takes by hand: by every n-th, by a block, by its turns, by `shard` and `Subset`.
import numpy as np
import torch
import torch.distributed as dist
from mine import rows
from torch.utils.data import DataLoader, Subset
from torch.utils.tensorboard import SummaryWriter

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
model = torch.nn.Linear(3, 1).cuda()
each = len(rows) // size


@torch.no_grad()
def evaluate():
    writer = SummaryWriter(f"runs/{rank}") if rank == 0 else None
    every = [model(row).mean().item() for row in rows[rank::size]]
    block = [model(row).mean().item() for row in rows[rank * each : (rank + 1) * each]]
    counted = [model(rows[i]).mean().item() for i in range(rank, len(rows), size)]
    part = [model(row).mean().item() for row in np.array_split(rows, size)[rank]]
    mine = [row for i, row in enumerate(rows) if i % size == rank]
    picked = [model(row).mean().item() for row in mine]
    turns, rest = [], []
    for i, row in enumerate(rows):
        if i % size == rank:
            turns.append(model(row).mean().item())
        if rank != i % size:
            continue
        rest.append(model(row).mean().item())
    loaded, sharded, subset = [], [], []
    for batch in DataLoader(rows[rank::size]):
        loaded.append(model(batch).mean().item())
    for batch in DataLoader(rows.shard(size, rank)):
        sharded.append(model(batch).mean().item())
    for batch in DataLoader(Subset(rows, range(rank, len(rows), size))):
        subset.append(model(batch).mean().item())
    if rank == 0:
        writer.add_scalar("every", np.mean(every), 1)  # expect: TRL003
        writer.add_scalar("block", np.mean(block), 1)  # expect: TRL003
        writer.add_scalar("counted", np.mean(counted), 1)  # expect: TRL003
        writer.add_scalar("part", np.mean(part), 1)  # expect: TRL003
        writer.add_scalar("picked", np.mean(picked), 1)  # expect: TRL003
        writer.add_scalar("turns", np.mean(turns), 1)  # expect: TRL003
        writer.add_scalar("rest", np.mean(rest), 1)  # expect: TRL003
        writer.add_scalar("loaded", np.mean(loaded), 1)  # expect: TRL003
        writer.add_scalar("sharded", np.mean(sharded), 1)  # expect: TRL003
        writer.add_scalar("subset", np.mean(subset), 1)  # expect: TRL003


evaluate()
