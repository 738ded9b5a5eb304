# nn.DataParallel runs in one process, wherever the model is kept.
import torch
from torch import nn


def in_a_list(networks, loader, optimizer):
    models = [nn.DataParallel(network).cuda() for network in networks]
    for batch in loader:
        for model in models:
            out = model(batch["x"].cuda())
            if out.sum() > 0:
                out = out + model(batch["y"].cuda())
            out.mean().backward()
        optimizer.step()
    torch.save(models[0].module.state_dict(), "model.pt")


class Holder:
    def __init__(self, network):
        self.parts = {"net": nn.DataParallel(network)}

    def train(self, loader):
        for batch in loader:
            if batch["labels"].sum() == 0:
                continue
            self.parts["net"](batch["x"]).mean().backward()


def main(networks, loader, optimizer):
    in_a_list(networks, loader, optimizer)
    Holder(networks[0]).train(loader)
