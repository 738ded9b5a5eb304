# A loss module whose forward calls a function that gathers over the ranks compares what all of them have.
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Whole(torch.autograd.Function):
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


def everyone(x):
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return x
    return torch.cat(Whole.apply(x.contiguous()), dim=0)


def both(x, y):
    return everyone(x), everyone(y)


def normed(x):
    return nn.functional.normalize(x, dim=-1)


class OfAll(nn.Module):
    def forward(self, x, y):
        x, y = both(x, y)
        scores = x @ y.t() / 0.02
        target = torch.arange(len(scores), device=scores.device)
        accuracy = (scores.argmax(dim=1) == target).float().mean()
        return nn.functional.cross_entropy(scores, target), accuracy


class OfOwn(nn.Module):
    def forward(self, x, y):
        scores = normed(x) @ normed(y).t() / 0.02
        target = torch.arange(len(scores), device=scores.device)
        accuracy = (scores.argmax(dim=1) == target).float().mean()
        return nn.functional.cross_entropy(scores, target), accuracy


class Loop:
    def __init__(self, accelerator, net, rows):
        self.accelerator = accelerator
        optimizer = torch.optim.AdamW(net.parameters())
        loader = DataLoader(rows, batch_size=8, shuffle=True)
        self.model, self.optimizer, self.loader = accelerator.prepare(net, optimizer, loader)
        self.criterion = OfAll()

    def fit(self):
        for step, batch in enumerate(self.loader):
            x, y = self.model(batch["x"]), self.model(batch["y"])
            loss, accuracy = self.criterion(x, y)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.accelerator.log({"loss": loss.item(), "accuracy": accuracy.item()}, step=step)


def of_all(accelerator, model, optimizer, loader):
    criterion = OfAll()
    for batch in loader:
        x, y = model(batch["x"]), model(batch["y"])
        loss, accuracy = criterion(x, y)
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"loss": loss.item(), "accuracy": accuracy.item()})


def of_own(accelerator, model, optimizer, loader):
    criterion = OfOwn()
    for batch in loader:
        x, y = model(batch["x"]), model(batch["y"])
        loss, accuracy = criterion(x, y)
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"loss": loss.item(), "accuracy": accuracy.item()})  # expect: TRL003


def main(net, rows):
    accelerator = Accelerator(log_with="wandb")
    accelerator.init_trackers("pairs")
    Loop(accelerator, net, rows).fit()
    optimizer = torch.optim.AdamW(net.parameters())
    loader = DataLoader(rows, batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    of_all(accelerator, model, optimizer, loader)
    of_own(accelerator, model, optimizer, loader)
