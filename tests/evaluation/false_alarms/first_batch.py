# Whether there is a first batch is the same on all ranks.
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler


class Showing:
    def __init__(self, dataset):
        loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
        try:
            self.shown = next(iter(loader))
        except StopIteration:
            self.shown = None

    def show(self):
        if not getattr(self, "shown", None):
            return False
        dist.barrier()
        return True


def by_loop(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    first = None
    for batch in loader:
        first = first or batch
        if (first["labels"] > 0).any():
            accelerator.wait_for_everyone()  # expect: TRL006
    if first:
        accelerator.wait_for_everyone()
