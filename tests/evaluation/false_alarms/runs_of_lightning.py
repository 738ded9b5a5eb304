# All processes have to run a Trainer of Lightning together, as it waits for them. One that is made for a single device
# waits for nobody: that is how one process tests alone.

import lightning as L
import torch


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def training_step(self, batch, _):
        return self.layer(batch).mean()

    def validation_step(self, batch, _):
        self.log("val", self.layer(batch).mean(), sync_dist=True)


def by_all(loader, settings):
    trainer = L.Trainer(devices=4, strategy="ddp")
    net = Net()
    trainer.fit(net, loader)
    trainer.validate(net, loader)
    if settings.tests:
        trainer.test(net, loader)
    if trainer.is_global_zero:
        print(trainer.callback_metrics)


def tested_by_one(loader):
    trainer = L.Trainer(devices=4, strategy="ddp")
    net = Net()
    trainer.fit(net, loader)
    if trainer.is_global_zero:
        alone = L.Trainer(devices=1, num_nodes=1)
        alone.test(net, loader)
        alone.save_checkpoint("tested.ckpt")


def either_way(loader, other):
    trainer = L.Trainer(devices=4, strategy="ddp")
    if trainer.is_global_zero:
        trainer.fit(Net(), loader)
    else:
        trainer.fit(Net(), other)


def by_first(loader):
    trainer = L.Trainer(devices=4, strategy="ddp")
    net = Net()
    trainer.fit(net, loader)
    if trainer.is_global_zero:
        trainer.test(net, loader)  # expect: TRL006
    if trainer.global_rank == 0:
        found = trainer.validate(net, loader)  # expect: TRL006
        print(found[0]["val"])


def fitted_by_first(loader):
    trainer = L.Trainer(devices=4, strategy="ddp")
    if trainer.global_rank != 0:
        return  # expect: TRL006
    trainer.fit(Net(), loader)


loader = torch.utils.data.DataLoader(torch.load("data.pt"))
by_all(loader, torch.load("settings.pt"))
tested_by_one(loader)
either_way(loader, loader)
by_first(loader)
fitted_by_first(loader)
