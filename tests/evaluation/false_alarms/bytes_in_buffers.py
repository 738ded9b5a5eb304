# What a buffer of bytes becomes is a tensor on the CPU; what is copied into a tensor of the GPU is not.

import pickle

import torch
import torch.distributed as dist


def from_a_list(shares):
    host = torch.tensor(bytearray(pickle.dumps(shares)), dtype=torch.uint8)
    dist.broadcast(host, src=0)  # expect: TRL011
    return host


def in_its_memory(shares):
    host = torch.frombuffer(bytearray(pickle.dumps(shares)), dtype=torch.uint8)
    dist.broadcast(host, src=0)  # expect: TRL011
    return host


def of_unknown(shares):
    maybe = torch.tensor(shares, dtype=torch.uint8)
    dist.broadcast(maybe, src=0)
    return maybe


def moved(shares):
    there = torch.frombuffer(bytearray(pickle.dumps(shares)), dtype=torch.uint8).cuda()
    dist.broadcast(there, src=0)
    other = torch.tensor(bytearray(pickle.dumps(shares)), dtype=torch.uint8, device="cuda")
    dist.broadcast(other, src=0)
    return there, other


def read_into(file):
    buffer = bytearray(8)
    file.readinto(buffer)
    kept = torch.empty(8, dtype=torch.uint8, device="cuda")
    kept.copy_(torch.frombuffer(buffer, dtype=torch.uint8))
    if buffer[0]:
        dist.broadcast(kept, src=0)
    return kept


def main(shares):
    dist.init_process_group("nccl")
    from_a_list(shares)
    in_its_memory(shares)
    of_unknown(shares)
    moved(shares)
    with open("shares.bin", "rb") as file:
        read_into(file)


main(torch.load("shares.pt"))
