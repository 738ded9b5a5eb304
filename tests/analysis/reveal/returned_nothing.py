# A function that returns None for some of the losses: whether it did is another question on each rank.
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(make_model(), make_optimizer(), DataLoader(make_data()))


def by_own_loss(batch):
    loss = model(batch).mean()
    if loss.item() > 2:
        return None
    return loss


def by_falling_through(batch):
    loss = model(batch).mean()
    if torch.isfinite(loss):
        return loss


def one_or_two_calls_away(batch):
    return by_own_loss(batch)


def by_all(batch):
    loss = model(batch).mean()
    if accelerator.reduce(loss, "max").item() > 2:
        return None
    return loss


def by_setting(batch, limit):
    if limit is None:
        return None
    return model(batch).mean()


def by_unknown(batch):
    if is_bad(batch):
        return None
    return model(batch).mean()


def never(batch):
    loss = model(batch).mean()
    if loss.item() > 2:
        return loss * 0
    return loss


for batch in loader:
    reveal_rank(by_own_loss(batch) is None)  # revealed: local(data)
    reveal_rank(by_own_loss(batch) is not None)  # revealed: local(data)
    reveal_rank(by_falling_through(batch) is None)  # revealed: local(data)
    reveal_rank(one_or_two_calls_away(batch) is None)  # revealed: local(data)
    reveal_rank(by_all(batch) is None)  # revealed: same
    reveal_rank(by_setting(batch, settings.limit) is None)  # revealed: same
    reveal_rank(by_unknown(batch) is None)  # revealed: same
    reveal_rank(never(batch) is None)  # revealed: same
    reveal_rank(by_own_loss(batch))  # revealed: local(data)
