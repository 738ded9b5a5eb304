"""Ranks that skip a batch note it in a flag, by which only they meet later."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from mine import build, rows

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
model = DistributedDataParallel(build().cuda())
optimizer = torch.optim.SGD(model.parameters())


def after_the_loop(loader):
    spiked = False
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        if loss.item() > 10:
            spiked = True
            optimizer.zero_grad()
            continue
        optimizer.step()
    if spiked:
        dist.barrier()  # expect: TRL006


def counted(loader):
    spikes = 0
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        if loss.item() > 10:
            spikes += 1
            continue
        optimizer.step()
    if spikes > 3:
        dist.barrier()  # expect: TRL006


def agreed(loader):
    spiked = False
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        worst = loss.detach()
        dist.all_reduce(worst, op=dist.ReduceOp.MAX)
        if worst.item() > 10:
            spiked = True
            continue
        optimizer.step()
    if spiked:
        dist.barrier()


def agreed_afterwards(loader):
    spiked = False
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        if loss.item() > 10:
            spiked = True
            continue
        optimizer.step()
    flag = torch.tensor(float(spiked), device="cuda")
    dist.all_reduce(flag)
    if flag.item() > 0:
        dist.barrier()


def only_shown(loader):
    spikes = 0
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        if loss.item() > 10:
            spikes += 1
            print(spikes)
            continue
        optimizer.step()
    if spikes:
        print("spikes", spikes)
    dist.barrier()


def main():
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        after_the_loop(loader)
        counted(loader)
        agreed(loader)
        agreed_afterwards(loader)
        only_shown(loader)


if __name__ == "__main__":
    main()
