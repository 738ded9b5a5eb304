# A perplexity of each rank's own tokens, averaged over the ranks, and losses that a module adds up.
import torch
import torch.distributed as dist
from mine import build, rows
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
model = build().cuda()
loader = DataLoader(rows(), sampler=DistributedSampler(rows()))
adds_up = nn.CrossEntropyLoss(reduction="sum", ignore_index=-100)


def sums():
    loss, tokens = torch.zeros(1).cuda(), torch.zeros(1).cuda()
    for inputs, labels in loader:
        loss += adds_up(model(inputs.cuda()), labels.cuda())
        tokens += (labels.cuda() != -100).sum()
    return loss, tokens


@torch.no_grad()
def of_each_rank():
    loss, tokens = sums()
    perplexity = torch.exp(loss / tokens)
    dist.all_reduce(perplexity)
    return (perplexity / dist.get_world_size()).item()  # expect: TRL007


@torch.no_grad()
def mean_of_each_rank():
    loss, tokens = sums()
    mean = loss / tokens
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)  # expect: TRL007
    return mean.exp().item()


@torch.no_grad()
def of_all_ranks():
    loss, tokens = sums()
    dist.all_reduce(loss)
    dist.all_reduce(tokens)
    return torch.exp(loss / tokens).item()


@torch.no_grad()
def of_sums():
    loss, tokens = sums()
    weights = torch.exp(loss) / torch.exp(tokens)
    dist.all_reduce(weights)
    return (weights / dist.get_world_size()).item()


print(of_each_rank(), mean_of_each_rank(), of_all_ranks(), of_sums())
