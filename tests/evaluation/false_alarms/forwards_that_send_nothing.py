# DDP that broadcasts no buffers sends nothing in a forward: one rank may render with it alone. The others still wait in
# a backward pass.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Renderer:
    def __init__(self, rank, net, loader):
        self.rank = rank
        self.loader = loader
        self.optimizer = torch.optim.Adam(net.parameters())
        self.net = DistributedDataParallel(net, device_ids=[rank], broadcast_buffers=False)

    def render(self, rays):
        return torch.cat([self.net(part).detach() for part in rays.split(64)])

    def run(self, rays):
        for batch in self.loader:
            if self.rank == 0:
                self.render(rays)
                shown = self.net(rays)
                print(shown.shape)
            loss = self.net(batch).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


class RendererWithBuffers(Renderer):
    def __init__(self, rank, net, loader):
        super().__init__(rank, net, loader)
        self.net = DistributedDataParallel(net, device_ids=[rank], broadcast_buffers=True)

    def run(self, rays):
        for batch in self.loader:
            if self.rank == 0:
                print(self.net(rays).shape)  # expect: TRL006
            loss = self.net(batch).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def tune_on_one_rank(net, batches: DataLoader, extra: DataLoader):
    net = DistributedDataParallel(net, broadcast_buffers=False)
    for batch, more in zip(batches, extra, strict=True):
        net(batch).sum().backward()
        if dist.get_rank() == 0:
            loss = net(more).sum()
            loss.backward()  # expect: TRL006


def skip_some(net, batches: DataLoader):
    net = DistributedDataParallel(net, broadcast_buffers=False)
    for batch in batches:
        if dist.get_rank() == 0 and len(batch) < 8:
            continue  # expect: TRL006
        loss = net(batch).sum()
        loss.backward()
    dist.barrier()


def show(net, extra):
    print(net(extra))


def shown_by_a_helper(net, batches: DataLoader, extra):
    net = DistributedDataParallel(net, broadcast_buffers=False)
    for batch in batches:
        net(batch).sum().backward()
        if dist.get_rank() == 0:
            show(net, extra)
            with torch.no_grad():
                show(net, extra)


def shown_by_a_helper_with_buffers(net, batches: DataLoader, extra):
    net = DistributedDataParallel(net)
    for batch in batches:
        net(batch).sum().backward()
        if dist.get_rank() == 0:
            show(net, extra)  # expect: TRL006
