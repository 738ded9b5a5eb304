# Paths that only the first rank names, and None on the others: `open` and functions of paths fail there.
import os
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
is_main = int(os.environ["RANK"]) == 0
run_log = None
if is_main:
    os.makedirs("logs", exist_ok=True)
    run_log = os.path.join("logs", "run.txt")


def print0(text):
    if is_main:
        with open(run_log, "a") as file:
            print(text, file=file)


def print_all(text):
    with open(run_log, "a") as file:  # expect: TRL017
        print(text, file=file)


def in_a_loop(loader, model):
    rank = dist.get_rank()
    log = None
    if rank == 0:
        log = "loss.txt"
    for x in loader:
        loss = model(x).sum()
        dist.all_reduce(loss)
        if rank == 0:
            with open(log, "a") as file:
                file.write(f"{loss.item()}\n")
    with open(log, "a") as file:  # expect: TRL017
        file.write("done")


def folder_of_the_first(state):
    rank = dist.get_rank()
    folder = Path("out") if rank == 0 else None
    if folder is not None:
        torch.save(state, os.path.join(folder, "last.pt"))
    torch.save(state, os.path.join(folder, f"{rank}.pt"))  # expect: TRL017


def made_by_all():
    folder = "out" if dist.get_rank() == 0 else None
    os.makedirs(folder, exist_ok=True)  # expect: TRL017


def agreed_on(state):
    rank = dist.get_rank()
    folder = "out" if rank == 0 else None
    box = [folder]
    dist.broadcast_object_list(box)
    folder = box[0]
    torch.save(state, os.path.join(folder, f"{rank}.pt"))


if __name__ == "__main__":
    net = torch.nn.Linear(2, 2).cuda()
    print0("start")
    in_a_loop([], net)
    folder_of_the_first(net.state_dict())
    made_by_all()
    agreed_on(net.state_dict())
    print_all("end")
