# Each rank goes through its own rows, and writes what it makes of each of them to one and the same file.
import os

import torch
import torch.distributed as dist
import wandb

dist.init_process_group("nccl")
rank, world_size = dist.get_rank(), dist.get_world_size()
rows = torch.load("rows.pt")

for row in rows[rank::world_size]:
    torch.save(row * 2, "scaled.pt")  # expect: TRL008

for number in range(rank, len(rows), world_size):
    with open("row.txt", "w") as file:  # expect: TRL008
        file.write(str(rows[number]))
    torch.save(rows[number], f"rows/{number}.pt")

for number in range(rank, len(rows), world_size):
    torch.save(rows[number], os.path.join("scaled", f"{rank}.pt"))
    if rank == 0:
        torch.save(rows[number], "last.pt")

for number, row in enumerate(rows):
    if number % world_size == rank:
        torch.save(row, f"rows/{number}.pt")

for trial in rows[rank::world_size]:
    wandb.init(project="trials", config=trial)  # a run for each of them
    wandb.log({"rate": trial["rate"]})
    wandb.finish()

for number in range(rank):
    torch.save(number, "number.pt")
