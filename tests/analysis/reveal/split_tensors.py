"""The parts of a tensor are like the tensor, however long this rank's own batch makes them."""

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train(net, data, general):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    for rows in loader:
        output = model(rows)
        gathered = [torch.zeros_like(output) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, output)
        sizes = [general, rows.size(0) - general]
        parts = [torch.split(each, sizes) for each in gathered]
        reveal_rank(torch.cat([each[0] for each in parts]))  # revealed: same
        reveal_rank(torch.split(gathered[0], rows.size(0))[0])  # revealed: same
        reveal_rank(gathered[0].split(sizes)[0])  # revealed: same
        reveal_rank(np.split(gathered[0].cpu().numpy(), sizes)[0])  # revealed: same
        reveal_rank(torch.split(output, sizes)[0])  # revealed: shard
        own = torch.split(gathered[0], 2)[dist.get_rank()]
        reveal_rank(own)  # revealed: local(rank)
