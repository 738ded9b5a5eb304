# The loss of a model that gathers what it compares by a function of autograd, in several processes.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.chunk(dist.get_world_size())[dist.get_rank()]


class Pairs(nn.Module):
    def __init__(self, distributed):
        super().__init__()
        self.distributed = distributed
        self.proj = nn.Linear(8, 8)
        self.weight = 0.5

    def forward(self, x, y):
        x, y = self.proj(x), self.proj(y)
        if self.distributed:
            x = Whole.apply(x)
            y = Whole.apply(y)
        logits = x @ y.T
        loss = self.weight * nn.functional.cross_entropy(logits, torch.arange(len(x), device=x.device))
        return {"loss": loss, "total": loss + 0}


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def forward(self, x, y):
        logits = self.proj(x) @ self.proj(y).T
        return {"loss": nn.functional.cross_entropy(logits, torch.arange(len(x), device=x.device))}


@torch.no_grad()
def evaluate(model, loader):
    total = 0.0
    for x, y in loader:
        out = model(x.cuda(), y.cuda())
        total += out["loss"].item()
    return total / len(loader)


def main(rows, distributed):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False), batch_size=8)
    model, own = DDP(Pairs(distributed).cuda()), DDP(Own().cuda())
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    mean, own_mean = evaluate(model, loader), evaluate(own, loader)
    if writer is not None:
        writer.add_scalar("test/loss", mean, 0)
        writer.add_scalar("test/own_loss", own_mean, 0)  # expect: TRL003


if __name__ == "__main__":
    from data import rows

    main(rows, True)
