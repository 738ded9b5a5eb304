# A module of the project that is passed the wrapped model runs it: the code of its forward says what it returns.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Criterion(torch.nn.Module):
    def __init__(self, weight=0.1):
        super().__init__()
        self.weight = weight

    def forward(self, model, sample):
        output = model(sample)  # expect: TRL009
        loss = (1 - self.weight) * output.logsumexp(-1).mean()
        return loss, {"loss": loss.detach(), "weight": self.weight}


class Agreed(torch.nn.Module):
    def forward(self, model, sample):
        loss = model(sample).mean()
        worst = loss.detach().clone()
        dist.all_reduce(worst, op=dist.ReduceOp.MAX)
        return loss, worst


class Decay(torch.nn.Module):
    def forward(self, model, count):
        return sum(each.norm() for each in model.parameters()) / count


class Task:
    def __init__(self, criterion):
        self.criterion = criterion

    def step(self, model, sample):
        model.train()
        return self.criterion(model, sample)


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
model = DistributedDataParallel(torch.nn.Linear(3, 3).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.randn(100, 3)
sampler = DistributedSampler(rows)
criterion, agreed, decay, task = Criterion(0.2), Agreed(), Decay(), Task(Criterion().cuda())

for epoch in range(4):
    sampler.set_epoch(epoch)
    for sample in DataLoader(rows, sampler=sampler):
        loss, log = criterion(model, sample.cuda())
        if not torch.isfinite(log["loss"]):
            continue  # expect: TRL006
        loss.backward()
        optimizer.step()
    for sample in DataLoader(rows, sampler=sampler):
        loss, log = task.step(model, sample.cuda())
        if loss > 100:
            continue  # expect: TRL006
        loss.backward()
        optimizer.step()
    for sample in DataLoader(rows, sampler=sampler):
        loss, log = criterion(model, sample.cuda())
        if log["weight"] > 4:
            continue
        loss.backward()
        optimizer.step()
    for sample in DataLoader(rows, sampler=sampler):
        loss, worst = agreed(model, sample.cuda())
        if not torch.isfinite(worst):
            continue
        loss.backward()
        optimizer.step()
    for sample in DataLoader(rows, sampler=sampler):
        penalty = decay(model, 2)
        if penalty > 100:
            continue
        (model(sample.cuda()).mean() + penalty).backward()
        optimizer.step()
    for sample in DataLoader(rows, sampler=sampler):
        loss, log = criterion(model.module, sample.cuda())
        loss.backward()
        optimizer.step()
