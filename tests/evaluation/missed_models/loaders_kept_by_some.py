# A loader that one method keeps in an attribute, where another one keeps what another package makes.
import torch.distributed as dist
from data_of_others import make_loaders
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Training:
    def __init__(self, options, rows, model, optimizer):
        self.options, self.rows, self.optimizer = options, rows, optimizer
        self.model = DistributedDataParallel(model)

    def setup(self):
        if self.options.own_rows:
            self.setup_own()
        else:
            self.train_loader, self.val_loader = make_loaders(self.options, distributed=False)

    def setup_own(self):
        self.sampler = DistributedSampler(self.rows, shuffle=True)
        self.train_loader = DataLoader(self.rows, sampler=self.sampler, batch_size=4)
        self.val_loader = DataLoader(self.rows, sampler=DistributedSampler(self.rows, shuffle=False))

    def train(self):
        self.setup()
        for _ in range(self.options.epochs):  # expect: TRL019
            for batch in self.train_loader:
                self.model(batch).mean().backward()
                self.optimizer.step()
            for batch in self.val_loader:
                self.model(batch).mean().backward()


def run(options, rows, model, optimizer):
    dist.init_process_group("nccl")
    Training(options, rows, model, optimizer).train()
