"""A logger that only the main process has, used by it alone in a loop that trains in a method."""

import logging
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, data, rank, local_rank):
        self.rank = rank
        self.model = DDP(model, device_ids=[local_rank])
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.loader = DataLoader(data, sampler=DistributedSampler(data))
        if self.rank == 0:
            self.logger = logging.getLogger(__name__)

    def train(self):
        for epoch in range(30):
            self.loader.sampler.set_epoch(epoch)
            for batch in self.loader:
                self.train_step(batch)
            if epoch % 8 == 0 and self.rank == 0:
                self.logger.info("epoch %d", epoch)

    def train_step(self, batch):
        self.optimizer.zero_grad()
        self.model(batch.cuda()).sum().backward()
        self.optimizer.step()


def main(model, data):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    Trainer(model.cuda(), data, dist.get_rank(), local_rank).train()
