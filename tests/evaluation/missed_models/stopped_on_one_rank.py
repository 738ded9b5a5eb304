# Only one rank tells the object that ends the training about the score, so that it ends on that rank only.
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Patience:
    def __init__(self, patience=3):
        self.patience = patience
        self.worse = 0
        self.best = None
        self.stop = False

    def __call__(self, score):
        if self.best is None or score > self.best:
            self.best = score
            self.worse = 0
            self.stop = False
        else:
            self.worse += 1
            if self.worse >= self.patience:
                self.stop = True

    def clear(self):
        self.best = None
        self.stop = False


class Trainer:
    def __init__(self, dataset):
        self.rank = dist.get_rank()
        self.loader = DataLoader(dataset, 16, sampler=DistributedSampler(dataset))
        self.model = DistributedDataParallel(nn.Linear(8, 3).cuda())
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.patience = Patience()
        self.patience_of_all = Patience()
        self.patience_of_both = Patience()
        self.patience_of_flag = Patience()
        self.testing = False
        self.passed = False

    def train(self, epoch):
        self.loader.sampler.set_epoch(epoch)
        for x, y in self.loader:
            loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def test(self):
        self.testing = True
        score = scores(self.model.module)
        self.testing = False
        return score

    def judge(self, score):
        if score > 0.99:
            self.passed = True

    def validate(self):
        if self.rank == 0:
            score = self.test()
            self.patience(score)
            self.patience_of_flag(score)
            self.judge(score)
        self.patience_of_all(3)
        if self.rank == 0:
            self.patience_of_both(1)
        else:
            self.patience_of_both(2)

    def fit(self):
        for epoch in range(10):
            self.train(epoch)
            self.validate()
            if self.patience.stop:
                print("stopped")
                break  # expect: TRL006
        self.patience.clear()

    def fit_until_passed(self):
        for epoch in range(10):
            self.train(epoch)
            self.validate()
            if self.passed:
                break  # expect: TRL006

    def fit_with_all(self):
        for epoch in range(10):
            self.train(epoch)
            self.validate()
            if self.patience_of_all.stop or self.testing:
                break

    def fit_with_both(self):
        for epoch in range(10):
            self.train(epoch)
            self.validate()
            if self.patience_of_both.stop:
                break

    def fit_with_flag(self):
        for epoch in range(10):
            self.train(epoch)
            self.validate()
            stop = torch.tensor(int(self.patience_of_flag.stop), device="cuda")
            dist.broadcast(stop, 0)
            if stop:
                break


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    trainer = Trainer(torch.load("data.pt"))
    trainer.fit()
    trainer.fit_until_passed()
    trainer.fit_with_all()
    trainer.fit_with_both()
    trainer.fit_with_flag()
