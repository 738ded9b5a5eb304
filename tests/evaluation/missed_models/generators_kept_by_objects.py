import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

def cycle(dl):
    while True:  # expect: TRL019
        for data in dl:
            yield data

class Trainer:
    def __init__(self, net, rows):
        dist.init_process_group("nccl")
        self.model = DDP(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=True))
        self.loader = cycle(loader)

    def step(self, batch):
        loss = self.model(batch).sum()
        loss.backward()

    def train(self):
        while True:
            batch = next(self.loader)
            self.step(batch)
            self.optimizer.step()

def main(net, rows):
    t = Trainer(net, rows)
    t.train()

if __name__ == "__main__":
    main(net, rows)
