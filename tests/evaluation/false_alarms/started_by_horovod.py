"""A program that Horovod starts, with metrics that its functions average."""

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def averaged(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


def train(model, rows):
    hvd.init()
    torch.cuda.set_device(hvd.local_rank())
    writer = SummaryWriter("logs") if hvd.rank() == 0 else None
    sampler = DistributedSampler(rows, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(rows, sampler=sampler)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        loss, correct = 0.0, torch.zeros(1)
        with torch.no_grad():
            for x, y in loader:
                output = model(x)
                loss += F.cross_entropy(output, y).item()
                correct += (output.argmax(1) == y).float().sum()
        mean = averaged(loss / len(loader), "loss")
        hvd.allreduce_(correct)
        if hvd.rank() == 0:
            writer.add_scalar("loss", mean, epoch)
            writer.add_scalar("correct", correct, epoch)
            torch.save(model.state_dict(), "model.pt")
    torch.save(optimizer.state_dict(), "optimizer.pt")  # expect: TRL008
