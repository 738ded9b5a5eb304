# A loss of embeddings that a function of autograd has gathered from all ranks is that of the whole batch.
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Everyone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *gradients):
        whole = torch.stack(gradients)
        dist.all_reduce(whole)
        return whole[dist.get_rank()]


class Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        whole = torch.empty(dist.get_world_size() * len(x), x.shape[1], device=x.device)
        dist.all_gather_into_tensor(whole, x)
        return whole

    @staticmethod
    def backward(ctx, gradient):
        return gradient.chunk(dist.get_world_size())[dist.get_rank()]


class WithOwn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return torch.cat(parts).mean(0) - x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class OfSome(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, some):
        parts = [torch.zeros_like(x) for _ in range(dist.get_world_size(some))]
        dist.all_gather(parts, x, group=some)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *gradients):
        return sum(gradients), None


class Average:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count


def of_parts(loader, model, criterion, optimizer):
    losses = Average()
    for one, two in loader:
        optimizer.zero_grad()
        first, second = model(one.cuda()), model(two.cuda())
        first = torch.cat(Everyone.apply(first), dim=0)
        second = torch.cat(Everyone.apply(second), dim=0)
        loss = 5 * criterion(first, second) + (first.var(dim=0) - second.var(dim=0)).mean()
        losses.update(loss.item(), len(first))
        loss.backward()
        optimizer.step()
    return losses.avg


def of_whole(loader, model, criterion, optimizer):
    losses = Average()
    for one, two in loader:
        optimizer.zero_grad()
        loss = criterion(Whole.apply(model(one.cuda())), Whole.apply(model(two.cuda())))
        losses.update(loss.item())
        loss.backward()
        optimizer.step()
    return losses.avg


def of_one_side(loader, model, criterion, optimizer):
    losses = Average()
    for one, two in loader:
        optimizer.zero_grad()
        first, second = model(one.cuda()), model(two.cuda())
        loss = criterion(torch.cat(Everyone.apply(first)).mean(0), second.mean(0))
        losses.update(loss.item())
        loss.backward()
        optimizer.step()
    return losses.avg


def of_own(loader, model, criterion, optimizer):
    losses = Average()
    for one, two in loader:
        optimizer.zero_grad()
        loss = criterion(WithOwn.apply(model(one.cuda())), WithOwn.apply(model(two.cuda())))
        losses.update(loss.item())
        loss.backward()
        optimizer.step()
    return losses.avg


def of_some(loader, model, criterion, optimizer, some):
    losses = Average()
    for one, two in loader:
        optimizer.zero_grad()
        first, second = model(one.cuda()), model(two.cuda())
        loss = criterion(torch.cat(OfSome.apply(first, some)), torch.cat(OfSome.apply(second, some)))
        losses.update(loss.item())
        loss.backward()
        optimizer.step()
    return losses.avg


class Trainer:
    def __init__(self, net, criterion):
        self.model = nn.parallel.DistributedDataParallel(net)
        self.criterion = criterion
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.whole = Whole.apply
        self.with_own = WithOwn.apply

    def of_kept(self, loader):
        losses = Average()
        for one, two in loader:
            self.optimizer.zero_grad()
            first, second = self.whole(self.model(one.cuda())), self.whole(self.model(two.cuda()))
            loss = torch.mean(first.T * self.criterion(first.squeeze(dim=-1), second.norm(dim=1)))
            losses.update(loss.item())
            loss.backward()
            self.optimizer.step()
        return losses.avg

    def of_kept_own(self, loader):
        losses = Average()
        for one, two in loader:
            self.optimizer.zero_grad()
            first = self.with_own(self.model(one.cuda()))
            loss = self.criterion(first, self.with_own(self.model(two.cuda())))
            losses.update(loss.item())
            loss.backward()
            self.optimizer.step()
        return losses.avg


def main(rows, net, some, criterion):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = nn.parallel.DistributedDataParallel(net.cuda())
    optimizer = torch.optim.Adam(model.parameters())
    trainer = Trainer(net.cuda(), criterion)
    sampler = DistributedSampler(rows)
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    for epoch in range(10):
        sampler.set_epoch(epoch)
        loader = DataLoader(rows, batch_size=4, sampler=sampler)
        parts = of_parts(loader, model, nn.MSELoss(), optimizer)
        whole = of_whole(loader, model, nn.MSELoss(), optimizer)
        side = of_one_side(loader, model, nn.MSELoss(), optimizer)
        own = of_own(loader, model, nn.MSELoss(), optimizer)
        few = of_some(loader, model, nn.MSELoss(), optimizer, some)
        kept, kept_own = trainer.of_kept(loader), trainer.of_kept_own(loader)
        if dist.get_rank() == 0:
            writer.add_scalar("kept", kept, epoch)
            writer.add_scalar("kept own", kept_own, epoch)  # expect: TRL003
            writer.add_scalar("parts", parts, epoch)
            writer.add_scalar("whole", whole, epoch)
            writer.add_scalar("side", side, epoch)  # expect: TRL003
            writer.add_scalar("own", own, epoch)  # expect: TRL003
            writer.add_scalar("some", few, epoch)  # expect: TRL003
