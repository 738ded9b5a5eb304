# What a Fabric sets up is in the wrapper of its strategy. With DDP, a training has to call that, and not the module in
# it, which does not matter where nothing is trained.

import torch
from lightning.fabric import Fabric


def train(fabric, net, loader):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net, optimizer = fabric.setup(net, optimizer)
    for x, y in fabric.setup_dataloaders(loader):
        loss = (net(x) - y).abs().mean()
        fabric.backward(loss)
        optimizer.step()
    with torch.no_grad():
        print(net.module(x).mean(), net.module.weight.shape)


def train_inside(fabric, net, loader):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net, optimizer = fabric.setup(net, optimizer)
    for x, y in fabric.setup_dataloaders(loader):
        loss = (net.module(x) - y).abs().mean()  # expect: TRL009
        fabric.backward(loss)
        optimizer.step()


def main(loader):
    fabric = Fabric(accelerator="cuda", devices=4, strategy="ddp")
    fabric.launch()
    train(fabric, torch.nn.Linear(2, 2), loader)
    train_inside(fabric, torch.nn.Linear(2, 2), loader)


main(torch.utils.data.DataLoader(torch.load("data.pt"), shuffle=True))
