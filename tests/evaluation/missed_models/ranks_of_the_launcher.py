# The number that a launcher has given a process is the rank, however the variable for it is named.
import os

import torch
import torch.distributed as dist
from plan import ask

dist.init_process_group("nccl")
ddp_rank = int(os.environ["RANK"])
ddp_local = int(os.environ["LOCAL_RANK"])
ddp_node = int(os.environ["RANK"]) // 8
master_process = ddp_rank == 0
first_of_machine = ddp_local == 0
first_node = ddp_node == 0
first_half = ddp_rank < ask("half")
figure = torch.ones(1, device="cuda")
for step in range(100):
    if master_process and ask(step):
        dist.barrier()  # expect: TRL006


def reduced():
    if ask("reduce") and ddp_rank == 0:
        dist.all_reduce(figure)  # expect: TRL006


def of_machine():
    if ask("send") and first_of_machine:
        dist.broadcast(figure, src=0)  # expect: TRL006


def of_node():
    if first_node and ask("send"):
        dist.broadcast(figure, src=0)


def of_half():
    if first_half and ask("send"):
        dist.broadcast(figure, src=0)


def either():
    if master_process or ask("send"):
        dist.broadcast(figure, src=0)


def local():
    ddp_number = int(os.environ["RANK"])
    if ask("reduce") and ddp_number == 0:
        dist.all_reduce(figure)  # expect: TRL006


for run in range(2):
    reduced()
    of_machine()
    of_node()
    of_half()
    either()
    local()
