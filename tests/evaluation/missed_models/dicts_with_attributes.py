# Networks that a dict of a library keeps under names, where each is prepared by itself.
from accelerate import Accelerator
from munch import Munch
from torch import nn
from torch.utils.data import DataLoader


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.style = nn.Linear(4, 4)

    def forward(self, x):
        return self.style(x)


def build():
    return Munch(encoder=nn.Linear(4, 4), quantizer=Quantizer())


def by_entries(dataset):
    accelerator = Accelerator()
    nets, loader = build(), accelerator.prepare(DataLoader(dataset))
    nets.quantizer.style.requires_grad_(True)
    for key in nets:
        nets[key] = accelerator.prepare(nets[key])
    for batch in loader:
        accelerator.backward(nets.quantizer(nets.encoder(batch)).mean())
        nets.quantizer.style(batch)  # expect: TRL002
        nets["quantizer"].style(batch)  # expect: TRL002
        accelerator.unwrap_model(nets.quantizer).style(batch)


def all_at_once(dataset):
    accelerator = Accelerator()
    nets, loader = accelerator.prepare(build(), DataLoader(dataset))
    for batch in loader:
        accelerator.backward(nets.quantizer(nets.encoder(batch)).mean())
        nets.quantizer.style(batch)


def main(dataset):
    by_entries(dataset)
    all_at_once(dataset)
