# A sum and a count that grow batch by batch are divided on each rank, and the ranks' quotients are averaged.
import torch
from accelerate import Accelerator


def weights_a_mean(accelerator, model, loader):
    total = torch.zeros((), device=accelerator.device)
    count = torch.zeros((), device=accelerator.device)
    for batch in loader:
        tokens = (batch["labels"] != -100).sum()
        total += model(**batch).loss * tokens
        count += tokens
    return accelerator.gather(total / count).mean().item()  # expect: TRL007


def weights_a_number(accelerator, model, loader):
    total, count = 0.0, 0
    for batch in loader:
        tokens = (batch["labels"] != -100).sum().item()
        total += tokens * model(**batch).loss.item()
        count += tokens
    mean = torch.tensor(total / count, device=accelerator.device)
    return accelerator.reduce(mean, reduction="mean").item()  # expect: TRL007


def stacks_both(accelerator, model, loader):
    both = torch.zeros(2, device=accelerator.device)
    for batch in loader:
        mask = batch["labels"] != -100
        both += torch.stack([(model(**batch).logits * mask).sum(), mask.sum()])
    return accelerator.gather(both[0] / both[1]).mean().item()  # expect: TRL007


def adds_both_up(accelerator, model, loader):
    total = torch.zeros((), device=accelerator.device)
    count = torch.zeros((), device=accelerator.device)
    for batch in loader:
        tokens = (batch["labels"] != -100).sum()
        total += model(**batch).loss * tokens
        count += tokens
    total, count = accelerator.reduce(torch.stack([total, count]), reduction="sum")
    return (total / count).item()


def reduces_the_stack(accelerator, model, loader):
    both = torch.zeros(2, device=accelerator.device)
    for batch in loader:
        mask = batch["labels"] != -100
        both += torch.stack([(model(**batch).logits * mask).sum(), mask.sum()])
    both = accelerator.reduce(both, reduction="sum")
    return (both[0] / both[1]).mean().item()


def weights_by_rows(accelerator, model, loader):
    total, count = 0.0, 0
    for batch in loader:
        rows = len(batch["labels"])
        total += model(**batch).loss.detach() * rows
        count += rows
    return accelerator.gather(total / count).mean().item()


def averages_the_stack(accelerator, model, loader):
    both = torch.zeros(2, device=accelerator.device)
    for batch in loader:
        both += torch.stack([model(**batch).loss, model(**batch).logits.mean()])
    return accelerator.gather(both[0] / len(loader)).mean().item()


def trains_with_it(accelerator, model, loader):
    for batch in loader:
        tokens = (batch["labels"] != -100).sum()
        loss = model(**batch).loss * tokens / accelerator.reduce(tokens, reduction="sum")
        accelerator.backward(loss)
        accelerator.log({"loss": accelerator.reduce(loss.detach(), reduction="sum").item()})


accelerator = Accelerator()
model, loader = accelerator.prepare(torch.nn.Linear(1, 1), load())
for evaluate in (
    weights_a_mean,
    weights_a_number,
    stacks_both,
    adds_both_up,
    reduces_the_stack,
    weights_by_rows,
    averages_the_stack,
):
    accelerator.log({evaluate.__name__: evaluate(accelerator, model, loader)})
trains_with_it(accelerator, model, loader)
