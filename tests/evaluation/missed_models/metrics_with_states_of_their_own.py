# torchmetrics reduces the states of a metric before its own `compute` runs, so that all ranks meet there.
import lightning as L
import torch
from torchmetrics import Metric


class HitRate(Metric):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.add_state("hits", default=torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("seen", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, scores, target):
        self.hits += (scores.argmax(1) == target).sum()
        self.seen += target.numel()

    def compute(self):
        return self.hits / self.seen

    def of_this_rank(self):
        return self.hits / self.seen


class Beside(Metric):
    # What it counts is no state, so that nothing is sent.
    def __init__(self):
        super().__init__()
        self.seen = 0

    def update(self, target):
        self.seen += target.numel()

    def compute(self):
        return self.seen


class Retrieval(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 2)
        self.rate, self.beside = HitRate(), Beside()

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def validation_step(self, batch, batch_idx):
        self.rate.update(self.net(batch), batch)
        self.beside.update(batch)

    def on_validation_epoch_end(self):
        if self.global_rank == 0:
            print(self.rate.compute())  # expect: TRL006
        rate = self.rate.compute()
        if self.global_rank == 0:
            print(rate, "of rank 0:", self.rate.of_this_rank(), self.beside.compute())


trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp")
trainer.fit(Retrieval())
