# What a dict or an attribute holds is reduced under a name that it is read to: it is the same tensor.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter


class Training:
    def __init__(self, net, loader):
        self.model, self.loader = DistributedDataParallel(net), loader
        self.sums = {"loss": torch.zeros((), device="cuda"), "count": torch.zeros((), device="cuda")}
        self.last = torch.zeros((), device="cuda")
        self.writer = SummaryWriter("runs") if dist.get_rank() == 0 else None

    def train(self, optimizer):
        for batch in self.loader:
            loss = self.model(batch).mean()
            loss.backward()
            optimizer.step()
            self.sums["loss"] += loss.detach()
            self.sums["count"] += loss.detach() * len(batch)
            self.last += loss.detach()

    def report(self, step):
        total = self.sums["loss"]
        dist.all_reduce(total)
        whole = self.last
        dist.all_reduce(whole)
        if self.writer is not None:
            self.writer.add_scalar("loss", self.sums["loss"].item(), step)
            self.writer.add_scalar("count", self.sums["count"].item(), step)  # expect: TRL003
            self.writer.add_scalar("last", self.last.item(), step)


def main(net, rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    sampler = torch.utils.data.DistributedSampler(rows)
    training = Training(net.cuda(), torch.utils.data.DataLoader(rows, sampler=sampler))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        training.train(torch.optim.SGD(net.parameters()))
        training.report(epoch)
