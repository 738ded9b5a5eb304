# A loss whose forward reduces it over the ranks, in a function of autograd, is that of all of them.
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels):
        top = logits.max(dim=1, keepdim=True)[0]
        dist.all_reduce(top, dist.ReduceOp.MAX)
        logits = (logits - top).exp()
        total = logits.sum(dim=1, keepdim=True)
        dist.all_reduce(total)
        loss = torch.zeros(logits.size(0), 1, device=logits.device)
        loss[labels] = (logits / total).gather(1, labels)
        dist.all_reduce(loss)
        ctx.save_for_backward(logits, labels)
        return loss.clamp_min_(1e-30).log_().mean() * (-1)

    @staticmethod
    def backward(ctx, gradient):
        logits, labels = ctx.saved_tensors
        return (logits - labels) * gradient, None


class Shifted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels):
        top = logits.max()
        dist.all_reduce(top, dist.ReduceOp.MAX)
        return ((logits - top) * labels).mean()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class DistEntropy(nn.Module):
    def forward(self, logits, labels):
        return Entropy.apply(logits, labels)


class Head(nn.Module):
    def __init__(self, size, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(classes, size))
        self.entropy = DistEntropy()

    def forward(self, features, labels):
        logits = nn.functional.linear(features, self.weight).clamp(-1, 1)
        loss = self.entropy(logits, labels)
        return loss


class OwnHead(Head):
    def forward(self, features, labels):
        logits = nn.functional.linear(features, self.weight).clamp(-1, 1)
        return self.entropy(logits, labels) + Shifted.apply(logits, labels)


class Log:
    def __init__(self, writer):
        self.rank = dist.get_rank()
        self.writer = writer

    def write(self, name, value, step):
        if self.rank == 0:
            self.writer.add_scalar(name, value, step)


def by_head(backbone, head, loader, log, optimizer):
    for step, (images, labels) in enumerate(loader):
        loss = head(backbone(images), labels)
        loss.backward()
        optimizer.step()
        log.write("loss", loss.item(), step)


def by_function(backbone, loader, log, optimizer):
    for step, (images, labels) in enumerate(loader):
        loss = Entropy.apply(backbone(images), labels)
        loss.backward()
        optimizer.step()
        log.write("loss", loss.item(), step)


def by_own_part(backbone, head, loader, log, optimizer):
    for step, (images, labels) in enumerate(loader):
        own = head(backbone(images), labels)
        own.backward()
        optimizer.step()
        log.write("own", own.item(), step)  # expect: TRL003


def main(rows, net, optimizer):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    backbone = nn.parallel.DistributedDataParallel(net.cuda())
    log = Log(SummaryWriter("runs") if dist.get_rank() == 0 else None)
    by_head(backbone, Head(512, 10), loader, log, optimizer)
    by_function(backbone, loader, log, optimizer)
    by_own_part(backbone, OwnHead(512, 10), loader, log, optimizer)
