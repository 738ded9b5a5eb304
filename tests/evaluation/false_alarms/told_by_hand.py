# The other ranks wait for a message of the first one, and then make the same calls.
import torch
import torch.distributed as dist


def follow(prompt):
    while True:
        dist.recv(prompt, src=0)
        dist.broadcast(prompt, 0)


def serve(handle):
    dist.init_process_group("nccl")
    if dist.get_rank() != 0:
        follow(torch.zeros(8, device="cuda"))
    handle(8000)


def serve_alone(handle, prompt):
    if dist.get_rank() != 0:
        dist.broadcast(prompt, 0)  # expect: TRL006
    handle(8000)
