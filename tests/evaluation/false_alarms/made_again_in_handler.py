# What fails is made again where its error is handled: the ranks that get there meet the others. But not if it may have
# been made before the error.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(model, batches):
    for x in batches:
        loss = model(x)
        try:
            loss.backward()
        except Exception:  # a loss per row
            loss = loss.mean()
            loss.backward()


def shown(model, batches, losses):
    for x in batches:
        loss = model(x)
        try:
            loss.backward()
            losses.append(loss.item())
        except ValueError:
            loss = loss.mean()
            loss.backward()  # expect: TRL006


def main(batches):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
    train(model, batches)
    shown(model, batches, [])
