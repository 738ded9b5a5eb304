# A Fabric that is told no strategy takes DDP for several devices: a training has to call the wrapper.
import torch
from lightning.fabric import Fabric


def train(fabric, net, loader):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net, optimizer = fabric.setup(net, optimizer)
    for x, y in fabric.setup_dataloaders(loader):
        loss = (net(x) - y).abs().mean()
        fabric.backward(loss)
        optimizer.step()
    if fabric.is_global_zero:
        torch.save(net.module.state_dict(), "net.pt")
    with torch.no_grad():
        print(net.module(x).shape, net.bias.shape)


def train_inside(fabric, net, loader):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net, optimizer = fabric.setup(net, optimizer)
    for x, y in fabric.setup_dataloaders(loader):
        loss = (net.module(x) - y).abs().mean()  # expect: TRL009
        fabric.backward(loss)
        optimizer.step()


def main(loader):
    fabric = Fabric()
    fabric.launch()
    train(fabric, torch.nn.Linear(2, 2), loader)
    train_inside(fabric, torch.nn.Linear(2, 2), loader)


main(torch.utils.data.DataLoader(torch.load("data.pt"), shuffle=True))
