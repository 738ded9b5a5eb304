"""Where nothing is called on it that Accelerate has, a parameter of that name may be anything: a text of Lightning."""

from lightning import Trainer
from torch.utils.data import DataLoader


def starts(rows, accelerator):
    Trainer(accelerator=accelerator).fit(rows)
    for batch in accelerator.shared_out(DataLoader(rows)):
        reveal_rank(batch)  # revealed: unknown
