# A rank writes its own part back into what has been gathered, for its gradient: the values are still those of all.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def gathered(rows):
    if rows is None:
        return None
    parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows.detach())
    return torch.cat(parts)


def train(model, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    rank = dist.get_rank()
    model = DistributedDataParallel(model.cuda())
    for rows in DataLoader(data, sampler=DistributedSampler(data)):
        rows = model(rows.cuda())
        count = len(rows)
        cache = []
        for _ in range(2):
            cache.append(gathered(rows))
        whole = torch.cat(cache).clone()
        whole[rank * count : (rank + 1) * count] = rows
        scores = whole @ whole.T
        scores.logsumexp(1).mean().backward()
        accuracy = (scores.argmax(1) == torch.arange(len(whole)).cuda()).float().mean().item()
        padded = torch.zeros(count * dist.get_world_size(), rows.shape[1]).cuda()
        padded[rank * count : (rank + 1) * count] = rows
        if rank == 0:
            wandb.log({"accuracy": accuracy})
            wandb.log({"own": padded.mean().item()})  # expect: TRL003
