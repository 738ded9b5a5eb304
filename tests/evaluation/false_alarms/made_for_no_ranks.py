# A loader that a call asks for without a number of ranks, or with one below 1, has no DistributedSampler.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]

    def loader(self, shuffle=True, rank=-1, world_size=-1):
        if world_size > 0:
            sampler = DistributedSampler(self, num_replicas=world_size, rank=rank)
            loader = DataLoader(self, batch_size=4, sampler=sampler)
            return loader
        else:
            return DataLoader(self, batch_size=4, shuffle=shuffle)


class Trainer:
    def __init__(self, model, rows, held_out, several=False, rank=-1, world_size=-1):
        self.model, self.rows, self.held_out = model, rows, held_out
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.rank = rank if several else 0
        self.world_size = world_size if several else 1

    def train(self):
        for batch in self.rows.loader(rank=self.rank, world_size=self.world_size):
            loss = self.model(batch.cuda()).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.share()
        if self.rank == 0:
            self.all_rows()
            self.all_by_number()

    def all_rows(self):
        total, count = 0.0, 0
        for batch in self.held_out.loader(shuffle=False):
            with torch.no_grad():
                total += self.model.module(batch.cuda()).mean().item()
                count += 1
        print("mean", total / count)

    def all_by_number(self):
        total, count = 0.0, 0
        for batch in self.held_out.loader(shuffle=False, world_size=0):
            with torch.no_grad():
                total += self.model.module(batch.cuda()).mean().item()
                count += 1
        print("mean", total / count)

    def share(self):
        total, count = 0.0, 0
        for batch in self.held_out.loader(rank=self.rank, world_size=self.world_size):
            with torch.no_grad():
                total += self.model.module(batch.cuda()).mean().item()
                count += 1
        if self.rank == 0:
            print("mean", total / count)  # expect: TRL003


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
model = DistributedDataParallel(torch.nn.Linear(3, 3).cuda())
rows, held_out = Rows(torch.randn(100, 3)), Rows(torch.randn(100, 3))
Trainer(model, rows, held_out, True, dist.get_rank(), dist.get_world_size()).train()
