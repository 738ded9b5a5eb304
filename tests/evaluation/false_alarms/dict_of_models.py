# `prepare` returns anything but a model unchanged, like a dict of models: each rank trains its own, on its own data.
import torch
from accelerate import Accelerator
from munch import Munch
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter


def build():
    return Munch(encoder=torch.nn.Linear(4, 4), head=torch.nn.Linear(4, 1))


def by_attribute(dataset):
    accelerator = Accelerator()
    nets = build()
    for key in nets:
        nets[key] = torch.nn.DataParallel(nets[key])
    optimizer = torch.optim.AdamW(nets.head.parameters())
    nets, optimizer, loader = accelerator.prepare(nets, optimizer, DataLoader(dataset))
    for step, batch in enumerate(loader):
        try:
            hidden = nets.encoder(batch["x"])
        except RuntimeError:
            continue
        if batch["labels"].sum() < 80:
            continue
        loss = torch.nn.functional.mse_loss(nets.head(hidden), batch["labels"])
        accelerator.backward(loss)
        optimizer.step()
        if accelerator.is_main_process:
            SummaryWriter("logs").add_scalar("train/accuracy", (batch["labels"] == loss).float().mean().item(), step)


def by_key(dataset):
    accelerator = Accelerator()
    nets = {"encoder": torch.nn.Linear(4, 4), "head": torch.nn.Linear(4, 1)}
    nets, loader = accelerator.prepare(nets, DataLoader(dataset))
    for batch in loader:
        if batch["labels"].sum() < 80:
            continue
        step_of(accelerator, nets, batch)


def step_of(accelerator, nets, batch):
    loss = nets["head"](nets["encoder"](batch["x"])).mean()
    if loss != 0:
        accelerator.backward(loss)


def one_by_one(dataset):
    accelerator = Accelerator()
    nets = build()
    for key in nets:
        nets[key] = accelerator.prepare(nets[key])
    loader = accelerator.prepare(DataLoader(dataset))
    for step, batch in enumerate(loader):
        if batch["labels"].sum() < 80:
            continue  # expect: TRL006
        accelerator.backward(nets.head(nets.encoder(batch["x"])).mean())
        if accelerator.is_main_process:
            SummaryWriter("logs").add_scalar("train/x", batch["x"].mean().item(), step)  # expect: TRL003


def beside_a_model(dataset):
    accelerator = Accelerator()
    losses = {"style": torch.nn.Linear(4, 1)}
    model, losses, loader = accelerator.prepare(torch.nn.Linear(4, 4), losses, DataLoader(dataset))
    for batch in loader:
        if batch["labels"].sum() < 80:
            continue  # expect: TRL006
        accelerator.backward(losses["style"](model(batch["x"])).mean())


def main(dataset):
    by_attribute(dataset)
    by_key(dataset)
    one_by_one(dataset)
    beside_a_model(dataset)
