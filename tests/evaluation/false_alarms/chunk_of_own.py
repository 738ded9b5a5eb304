# A rank takes its own chunk from a list of chunks: it writes files of other names than the others.
import math
import os

import torch
import torch.distributed as dist
from torchvision.utils import save_image


def chunks(names, parts):
    each = math.ceil(len(names) / parts)
    found = [names[start : start + each] for start in range(0, len(names), each)]
    while len(found) < parts:
        found.append([])
    return found


def own_chunk(names):
    return chunks(names, dist.get_world_size())[dist.get_rank()]


def first_chunk(names):
    return chunks(names, dist.get_world_size())[0]


def save(rows, name):
    save_image(rows, os.path.join("out", name, "0.png"))


def save_first(rows, name):
    save_image(rows, os.path.join("out", name, "1.png"))  # expect: TRL008


def main(net, count):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        print(count)
    rows = net(torch.ones(4, 3))
    own = own_chunk(list(range(count)))
    for index in range(len(own)):
        save(rows, str(own[index]))
    for number in first_chunk(list(range(count))):
        save_first(rows, str(number))


def by_bucket(rows):
    dist.init_process_group("nccl")
    rank, total = dist.get_rank(), 0
    buckets = [[0.0] for _ in range(dist.get_world_size())]
    buckets[rank].append(rows[rank].sum().item())
    bucket = buckets[rank]
    bucket.append(rows[rank].max().item())
    for each in buckets:
        total += sum(each)
    if total > 3:
        dist.barrier()  # expect: TRL006
