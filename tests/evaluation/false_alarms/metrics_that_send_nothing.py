# A metric that is told not to synchronise sends nothing when it is computed: each rank may do so alone.
import lightning as L
import torch
from torchmetrics import Metric


class HitRate(Metric):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.add_state("hits", default=torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, scores):
        self.hits += (scores > 0).sum()

    def compute(self):
        return self.hits


class Retrieval(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 2)
        self.rate = HitRate(sync_on_compute=False)

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def validation_step(self, batch, batch_idx):
        self.rate.update(self.net(batch))

    def on_validation_epoch_end(self):
        if self.global_rank == 0:
            print("rank 0:", self.rate.compute())
        if self.global_rank == 0:
            self.all_gather(self.net.weight)  # expect: TRL006


trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp")
trainer.fit(Retrieval())
