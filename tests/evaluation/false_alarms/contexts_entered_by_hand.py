"""A context that is entered and left by hand: nothing waits in `no_sync`, and the last backward reduces."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(net, loader, optimizer, turns):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(net.cuda())
    for batch in loader:
        context = model.no_sync()
        context.__enter__()
        for part in batch.cuda().chunk(turns)[:-1]:
            model(part).sum().backward()
        context.__exit__(None, None, None)
        model(batch.cuda().chunk(turns)[-1]).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    if dist.get_rank() == 0:
        dist.barrier()  # expect: TRL006


train(torch.nn.Linear(2, 1), torch.utils.data.DataLoader(torch.zeros(8, 2)), None, 2)
