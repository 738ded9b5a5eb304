# A helper averages a tensor over the ranks through its memory, and what it gets is the attribute of a meter.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Meter:
    def __init__(self):
        self.avg = 0
        self.count = 0

    def update(self, value, n=1):
        self.count += n
        self.avg = value / self.count


def average(tensor, is_distributed):
    if is_distributed:
        size = float(dist.get_world_size())
        dist.all_reduce(tensor.data, op=dist.ReduceOp.SUM)
        tensor.data /= size


def validate(model, loader, args):
    meter = Meter()
    for batch in loader:
        meter.update(model(batch).mean().data, batch.size(0))
    average(meter.avg, args.distributed)
    return meter.avg


def main(data, args):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    loss = validate(model, DataLoader(data, sampler=DistributedSampler(data)), args)
    if dist.get_rank() == 0:
        SummaryWriter("runs").add_scalar("loss", loss, 0)
