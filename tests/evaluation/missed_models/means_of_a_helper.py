# A helper computes means over each rank's own number of elements: one is trained with, and another is a metric.
import torch
from accelerate import Accelerator


def masked_mean(x, mask):
    return (x * mask).sum() / mask.sum().clamp(min=1)


def loss_of(model, batch):
    return masked_mean(model(batch["x"]), batch["mask"])


def trains_and_evaluates(accelerator, model, loader, held_out):
    for batch in loader:
        loss = loss_of(model, batch)
        accelerator.backward(loss)
        accelerator.log({"loss": accelerator.gather(loss).mean()})
    for batch in held_out:
        accelerator.log({"eval": accelerator.gather(loss_of(model, batch)).mean()})


def pair(x, y, mask):
    a = masked_mean(x, mask)
    b = masked_mean(y, mask)
    return a, b


def trains_with_one_of_two(accelerator, model, loader):
    for batch in loader:
        out = model(batch["x"])
        mask = batch["mask"]
        loss, kl = pair(out, out * 2, mask)
        accelerator.backward(loss)
        accelerator.log({"loss": accelerator.gather(loss).mean()})
        accelerator.log({"kl": accelerator.gather(kl).mean()})  # expect: TRL007


class Keeper:
    def mean(self, x, mask):
        self.last = masked_mean(x, mask)
        return self.last


def keeps_what_it_trains_with(accelerator, model, loader):
    keeper = Keeper()
    for batch in loader:
        loss = keeper.mean(model(batch["x"]), batch["mask"])
        accelerator.backward(loss)
        accelerator.log({"loss": accelerator.gather(keeper.last).mean()})


def adds_a_part(accelerator, model, loader):
    for batch in loader:
        out = model(batch["x"])
        loss = masked_mean(out, batch["mask"])
        norm = masked_mean(out.abs(), batch["mask"])
        accelerator.backward(loss + 0.1 * norm)
        accelerator.log({"loss": accelerator.gather(loss).mean(), "norm": accelerator.gather(norm).mean()})
        size = masked_mean(out.square(), batch["mask"])
        accelerator.log({"size": accelerator.gather(size).mean()})  # expect: TRL007


accelerator = Accelerator()
model, loader, held_out = accelerator.prepare(torch.nn.Linear(1, 1), load(), load())
trains_and_evaluates(accelerator, model, loader, held_out)
trains_with_one_of_two(accelerator, model, loader)
keeps_what_it_trains_with(accelerator, model, loader)
adds_a_part(accelerator, model, loader)
