# Functions that only the main process passes to what all ranks call: it alone has any to call after an epoch.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, data, device):
        self.model = DDP(model.to(device), device_ids=[device])
        self.loader = DataLoader(data, sampler=DistributedSampler(data))
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def train(self, epochs, after_epoch_funcs=()):
        for epoch in range(epochs):
            self.loader.sampler.set_epoch(epoch)
            for batch in self.loader:
                self.model(batch).sum().backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
            for func in after_epoch_funcs:
                func(epoch)


def main(model, data):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    trainer = Trainer(model, data, local_rank)

    def save(epoch):
        torch.save(trainer.model.module.state_dict(), f"model-{epoch}.pt")

    if dist.get_rank() == 0:
        trainer.train(3, after_epoch_funcs=[save])
    else:
        trainer.train(3)


def passed_by_all(model, data):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    trainer = Trainer(model, data, local_rank)

    def save(epoch):
        torch.save(trainer.model.module.state_dict(), f"weights-{epoch}.pt")  # expect: TRL008

    if dist.get_rank() == 0:
        trainer.train(3, after_epoch_funcs=[save])
    else:
        trainer.train(5, after_epoch_funcs=[save])
