# What a model returns may be of all ranks if a part of it reduces statistics while it computes.
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Codebook(nn.Module):
    def __init__(self, size, width):
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(size, width))

    def usage(self, chosen):
        counts = nn.functional.one_hot(chosen, len(self.codes)).float().sum(dim=0)
        dist.all_reduce(counts)
        share = counts / counts.sum()
        return {"entropy": -(share * (share + 1e-8).log()).sum(), "used": (counts >= 1).sum()}

    def forward(self, x):
        chosen = torch.cdist(x, self.codes).argmin(dim=-1)
        return nn.functional.embedding(chosen, self.codes), self.usage(chosen)


class Levels(nn.Module):
    def __init__(self, levels, size, width):
        super().__init__()
        level = lambda: Codebook(size, width)  # noqa: E731
        self.levels = nn.ModuleList()
        for _ in range(levels):
            self.levels.append(level())

    def forward(self, parts):
        found = [level(part) for level, part in zip(self.levels, parts, strict=True)]
        return [codes for codes, _ in found], [statistics for _, statistics in found]


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(80, 64)
        self.levels = Levels(2, 512, 64)
        self.decoder = nn.Linear(64, 80)

    def forward(self, x):
        codes, statistics = self.levels([self.encoder(x), x])
        return self.decoder(codes[0]), statistics


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(80, 64)
        self.decoder = nn.Linear(64, 80)

    def forward(self, x):
        hidden = self.encoder(x)
        return self.decoder(hidden), [{"norm": hidden.norm()}]


def main(rows, optimizer):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    quantizer = nn.parallel.DistributedDataParallel(Quantizer().cuda())
    plain = nn.parallel.DistributedDataParallel(Plain().cuda())
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    for step, batch in enumerate(loader):
        output, statistics = quantizer(batch)
        other, own = plain(batch)
        loss = (output - batch).square().mean() + (other - batch).square().mean()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            writer.add_scalar("entropy", statistics[0]["entropy"].item(), step)
            writer.add_scalar("norm", own[0]["norm"].item(), step)  # expect: TRL003
