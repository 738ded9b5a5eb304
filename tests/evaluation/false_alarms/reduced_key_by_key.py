"""A method fills its object's dict, calls others meanwhile, and then reduces the dict key by key into numbers."""

import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def error_of(output, y):
    return (output - y).abs().mean()


class Trainer:
    def __init__(self, data):
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, sampler=self.sampler)
        self.model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.logs, self.before = {}, {}

    def train(self):
        for epoch in range(3):
            self.sampler.set_epoch(epoch)
            self.train_one_epoch()
            if dist.get_rank() == 0:
                wandb.log(self.logs)

    def train_one_epoch(self):
        self.logs["error"] = torch.zeros(1).cuda()
        self.logs["score"] = torch.zeros(1).cuda()
        self.logs["size"] = torch.zeros(1).cuda()
        self.before["error"] = torch.zeros(1).cuda()
        for x, y in self.loader:
            output = self.model(x)
            error = error_of(output, y)
            self.optimizer.zero_grad()
            error.backward()
            self.optimizer.step()
            self.logs["error"] += error.detach()
            self.logs["score"] += (output == y).float().mean()
            self.logs["size"] += output.abs().mean().detach()  # expect: TRL003
            self.before["error"] += error_of(output, y).detach()  # expect: TRL003
        if dist.get_rank() == 0:
            wandb.log(self.before)
        for key in ["error", "score"]:
            dist.all_reduce(self.logs[key].detach())
            self.logs[key] = float(self.logs[key] / dist.get_world_size())
        dist.all_reduce(self.before["error"])
        self.before["error"] = float(self.before["error"] / dist.get_world_size())


if __name__ == "__main__":
    Trainer([]).train()
