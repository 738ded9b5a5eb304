# Lightning gathers tensors of the same shape on all ranks, of numbers, too, which it puts on the device itself. What a
# mask selects has another shape on each.

import lightning as L
import torch


class Net(L.LightningModule):
    def training_step(self, batch, _):
        return self.net(batch).mean()

    def validation_step(self, batch, _):
        scores = self.net(batch)
        high = scores > 0.5
        everyone = self.all_gather(scores.mean())
        counts = self.all_gather(high.sum().item())
        both = self.all_gather({"n": len(batch), "mean": scores.mean().cpu()})
        marked = self.all_gather(torch.where(high, scores, 0.0))
        print(everyone.mean(), counts.sum(), both, marked.sum())

    def test_step(self, batch, _):
        scores = self.net(batch)
        print(self.all_gather(scores[scores > 0.5]).numel())  # expect: TRL005
        print(self.trainer.strategy.all_gather(torch.nonzero(batch)))  # expect: TRL005


def by_fabric(loader):
    fabric = L.Fabric(devices=4, strategy="ddp")
    fabric.launch()
    for x in fabric.setup_dataloaders(loader):
        print(fabric.all_gather(x.sum()), fabric.all_gather(x.sum().item()))
        print(fabric.all_gather(x[x > 1]))  # expect: TRL005


trainer = L.Trainer(devices=4, strategy="ddp")
trainer.fit(Net(), torch.load("loader.pt"))
by_fabric(torch.load("loader.pt"))
