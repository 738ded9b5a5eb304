# The first rank loads a model's weights, and sends them to the others: that runs no forward, in which all ranks wait.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Codebook(nn.Module):
    def __init__(self, size, dim):
        super().__init__()
        self.size = size
        self.register_buffer("embed", torch.randn(size, dim))

    def forward(self, x):
        codes = torch.cdist(x, self.embed).argmin(-1)
        used = torch.bincount(codes, minlength=self.size)
        dist.all_reduce(used)
        return self.embed[codes]

    def restart(self):
        dist.broadcast(self.embed, 0)


def main(rows, path):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows, shuffle=False))
    model = Codebook(16, 8).cuda()
    if dist.get_rank() == 0 and os.path.exists(path):
        model.load_state_dict(torch.load(path)["model"])
        model.cpu()
        torch.save({"model": model.state_dict()}, path)
        model.cuda()
    for tensor in model.buffers():
        dist.broadcast(tensor, 0)
    if dist.get_rank() == 0:
        print(model(rows[0]))  # expect: TRL006
    if dist.get_rank() == 0:
        print(model.forward(rows[0]))  # expect: TRL006
    if dist.get_rank() == 0:
        model.restart()  # expect: TRL006
    with torch.no_grad():
        for x in loader:
            model(x.cuda())
