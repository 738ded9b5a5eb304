# What a rank computes of rows that it takes by hand, and what all ranks have in common: each beside a real bug.
import os

import numpy as np
import torch
import torch.distributed as dist
from mine import rows
from torch.utils.data import DataLoader, Subset
from torch.utils.tensorboard import SummaryWriter

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(3, 1).to(device)


@torch.no_grad()
def evaluate():
    writer = SummaryWriter("runs") if rank == 0 else None
    own, passed, everything, whole, first = [], [], [], [], []
    for row in rows[rank::size]:
        score = model(row.to(device)).mean()
        own.append(score.item())
        np.save(f"scores/{row}.npy", score.item())  # each rank has files of its own rows
        dist.all_reduce(score)  # expect: TRL006
        passed.append(score.item())
    for i, batch in enumerate(DataLoader(rows)):
        score = model(batch.to(device), rank).mean()  # all ranks go through all rows
        everything.append(score.item())
        if i % size == rank:
            np.save(f"parts/{i}.npy", score.item())
        if i % 10 == 0:
            dist.barrier()
    for batch in DataLoader(Subset(rows, range(10))):
        whole.append(model(batch).mean().item())
    for row in rows[:size]:
        first.append(model(row).mean().item())
    shares = [None] * size
    dist.all_gather_object(shares, own)
    total = torch.tensor([sum(own), len(own)], device=device)
    dist.all_reduce(total)
    with open(f"own_{rank}.txt", "w") as file:
        file.write(str(np.mean(own)))
    if rank == 0:
        writer.add_scalar("own", np.mean(own), 1)  # expect: TRL003
        writer.add_scalar("rank0/own", np.mean(own), 1)
        writer.add_scalar("passed", np.mean(passed), 1)
        writer.add_scalar("everything", np.mean(everything), 1)
        writer.add_scalar("whole", np.mean(whole), 1)
        writer.add_scalar("first", np.mean(first), 1)
        writer.add_scalar("gathered", np.mean([each for share in shares for each in share]), 1)
        writer.add_scalar("reduced", (total[0] / total[1]).item(), 1)


evaluate()
