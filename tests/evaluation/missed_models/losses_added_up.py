# The mean of losses that are added up over the batches, and divided by this rank's own number of labels.
import torch
from accelerate import Accelerator
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader


def mean_of_means(accelerator, model, loader):
    total = torch.zeros((), device=accelerator.device)
    count = torch.zeros((), device=accelerator.device)
    for batch in loader:
        logits = model(batch["x"]).logits
        total += cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100, reduction="sum")
        count += (batch["labels"] != -100).sum()
    return accelerator.gather(total / count.clamp(min=1)).mean().item()  # expect: TRL007


def whole_mean(accelerator, model, loader):
    total = torch.zeros((), device=accelerator.device)
    count = torch.zeros((), device=accelerator.device)
    for batch in loader:
        logits = model(batch["x"]).logits
        total += cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100, reduction="sum")
        count += (batch["labels"] != -100).sum()
    total, count = accelerator.reduce(torch.stack([total, count]), reduction="sum")
    return (total / count).item()


def by_rows(accelerator, model, loader):
    total, count = torch.zeros((), device=accelerator.device), 0
    for batch in loader:
        total += cross_entropy(model(batch["x"]).logits, batch["labels"], reduction="sum")
        count += len(batch["labels"])
    return accelerator.gather(total / count).mean().item()


def main(net, rows):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(net, DataLoader(rows, batch_size=8))
    accelerator.print(mean_of_means(accelerator, model, loader))
    accelerator.print(whole_mean(accelerator, model, loader))
    accelerator.print(by_rows(accelerator, model, loader))


main(make_net(), make_rows())
