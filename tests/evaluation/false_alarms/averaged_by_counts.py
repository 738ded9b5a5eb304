# Losses that are reduced where there are several processes, averaged with this rank's numbers of rows as weights.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Meter:
    def __init__(self):
        self.sum = 0
        self.count = 0
        self.avg = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count


def validate(loader, model, criterion, args):
    meter, always = Meter(), Meter()
    for inputs, target in loader:
        loss = criterion(model(inputs), target)
        n = inputs.size(0)
        if args.multiprocessing_distributed:
            loss = loss * n
            count = target.new_tensor([n], dtype=torch.long)
            dist.all_reduce(loss), dist.all_reduce(count)
            n = count.item()
            loss = loss / n
        else:
            loss = torch.mean(loss)
        other = criterion(model(inputs), target).detach()
        dist.all_reduce(other)
        meter.update(loss.item(), inputs.size(0))
        always.update(other.item() / dist.get_world_size(), inputs.size(0))
    return meter.avg, always.avg


def main(model, data, criterion, args):
    dist.init_process_group("nccl")
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    loader = DataLoader(data, sampler=DistributedSampler(data))
    model = torch.nn.parallel.DistributedDataParallel(model)
    loss, other = validate(loader, model, criterion, args)
    if dist.get_rank() == 0:
        writer.add_scalar("loss", loss, 0)
        writer.add_scalar("other", other, 0)
