"""Models that Fabric sets up: their outputs are of the data that they get, whatever wraps them."""

import lightning
import torch
from nets import build
from torch.utils.data import DataLoader


def main(settings, rows):
    fabric = lightning.Fabric(devices=2, strategy=settings.strategy)
    fabric.launch()
    loader = fabric.setup_dataloaders(DataLoader(rows))
    model = fabric.setup(torch.nn.Linear(4, 2))
    other, optimizer = fabric.setup(build(settings), torch.optim.AdamW(model.parameters()))
    alone = fabric.setup_module(build(settings))
    for batch in loader:
        reveal_rank(model(batch).mean())  # revealed: partial(mean)
        reveal_rank(other(batch).mean())  # revealed: partial(mean)
        reveal_rank(alone(batch).mean())  # revealed: partial(mean)
        reveal_rank(model(torch.ones(4)).mean())  # revealed: same
        reveal_rank(fabric.setup(*settings.models)(batch))  # revealed: unknown
    reveal_rank(optimizer)  # revealed: same
