# A module raises for a batch without tokens: the rank that has it skips the backward pass of the step.
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class NothingToLearn(ValueError):
    """No token of the batch has a label."""


class Stopped(Exception):
    """The job must end."""


class Net(nn.Module):
    def forward(self, x, mask):
        if mask.sum() == 0:
            raise NothingToLearn("no label")
        return x


def check(step):
    if step > 3:
        raise Stopped


def skipping(loader, optimizer):
    model = DDP(Net())
    for batch in loader:
        try:
            loss = model(batch["x"], batch["mask"]).mean()
            loss.backward()
        except NothingToLearn:
            continue  # expect: TRL006
        optimizer.step()


def all_of_them(loader, optimizer):
    model = DDP(Net())
    for step, batch in enumerate(loader):
        try:
            check(step)
            loss = model(batch["x"], batch["mask"]).mean()
            loss.backward()
        except Stopped:
            break
        optimizer.step()


def with_another_loss(loader, optimizer):
    model = DDP(Net())
    for batch in loader:
        try:
            loss = model(batch["x"], batch["mask"]).mean()
        except NothingToLearn:
            loss = sum(each.sum() * 0 for each in model.parameters())
        loss.backward()
        optimizer.step()
