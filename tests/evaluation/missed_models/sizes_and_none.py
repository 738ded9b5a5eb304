# Sizes of an unknown tensor are numbers; a value that is None on some ranks divides them.
import torch
import torch.distributed as dist
from accelerate import Accelerator


def sizes(x, y, z):
    accelerator = Accelerator()
    dist.all_reduce(x.size(0))  # expect: TRL001
    accelerator.gather(y.shape[0])  # expect: TRL001
    n = z.shape[1]
    accelerator.gather(n)  # expect: TRL001
    b, c = z.shape
    accelerator.gather(b)  # expect: TRL001
    accelerator.gather(z.shape)
    accelerator.gather(x.size())
    accelerator.gather(x.size)


def pre(x, flag):
    accelerator = Accelerator()
    loader = accelerator.prepare(torch.utils.data.DataLoader([1]))
    for batch in loader:
        x = None
        if (batch["mask"].sum() > 0).item():
            x = batch["a"]
        if x is not None:
            accelerator.gather(x)  # expect: TRL006
        y = None
        if flag:
            y = batch["a"]
        if y is not None:
            accelerator.gather(y)
        z = None
        if len(batch["a"][batch["mask"]]) > 3:
            z = batch["a"]
        if z is not None:
            accelerator.gather(z)  # expect: TRL006
