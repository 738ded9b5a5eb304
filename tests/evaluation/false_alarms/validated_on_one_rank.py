# DDP skips the broadcast of a forward without gradients in this rank's next forward: the ranks match again. Not in the
# default set, as people have fixed such hangs: another collective came first, or no forward followed.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def validate(model, batches):
    with torch.no_grad():
        return sum(model(batch).sum().item() for batch in batches)


def train(batches, validation, optimizer):
    model = DistributedDataParallel(torch.nn.BatchNorm1d(4))
    for batch in batches:
        model(batch).sum().backward()
        optimizer.step()
        if dist.get_rank() == 0:
            validate(model, validation)  # false: TRL006


def train_on_one_rank(batches, extra, optimizer):
    model = DistributedDataParallel(torch.nn.BatchNorm1d(4))
    for _ in batches:
        if dist.get_rank() == 0:
            model(extra).sum().backward()  # expect: TRL006
        optimizer.step()
