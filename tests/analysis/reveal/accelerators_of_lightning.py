"""If none of Accelerate's methods is called on it, a parameter of that name may be anything: a string of Lightning."""

from lightning import Trainer
from torch.utils.data import DataLoader


def starts(rows, accelerator):
    Trainer(accelerator=accelerator).fit(rows)
    for batch in accelerator.shared_out(DataLoader(rows)):
        reveal_rank(batch)  # revealed: unknown
