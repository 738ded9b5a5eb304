"""Modules of torch that a setting chooses from, and modules on a device: what they compute is this rank's own."""

from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Focal(nn.Module):
    def forward(self, outputs, labels):
        return ((outputs - labels) ** 2).mean()


accelerator = Accelerator()
model, loader = accelerator.prepare(nn.Linear(2, 1), DataLoader(load()))
args = options()
if args.square:
    chosen = nn.MSELoss()
elif args.smooth:
    chosen = nn.SmoothL1Loss()
else:
    chosen = Focal()
on_device = nn.CrossEntropyLoss().to(accelerator.device)
moved = chosen.cuda()
of_rows = nn.CrossEntropyLoss(reduction="none").cuda()
summed = nn.CrossEntropyLoss(reduction="sum").cuda()
listed = {"square": nn.MSELoss(), "smooth": nn.SmoothL1Loss()}[args.loss]
of_class = {"square": nn.MSELoss, "smooth": nn.SmoothL1Loss}[args.loss]()
maybe = nn.MSELoss() if args.square else unknown()
for batch in loader:
    outputs = model(batch["x"])
    reveal_rank(chosen(outputs, batch["y"]))  # revealed: local(data)
    reveal_rank(on_device(outputs, batch["y"]))  # revealed: local(data)
    reveal_rank(moved(outputs, batch["y"]))  # revealed: local(data)
    reveal_rank(of_rows(outputs, batch["y"]))  # revealed: shard
    reveal_shape(of_rows(outputs, batch["y"]))  # revealed: unknown
    reveal_rank(summed(outputs, batch["y"]))  # revealed: local(data)
    reveal_shape(summed(outputs, batch["y"]))  # revealed: ()
    reveal_rank(listed(outputs, batch["y"]))  # revealed: local(data)
    reveal_rank(of_class(outputs, batch["y"]))  # revealed: local(data)
    reveal_rank(maybe(outputs, batch["y"]))  # revealed: unknown
    reveal_rank(chosen.weight)  # revealed: unknown
    reveal_rank(accelerator.gather(chosen(outputs, batch["y"])).mean())  # revealed: same
