# A rank whose mask selects nothing has left before: what the mask has selected is not empty on any rank.
import torch
from accelerate import Accelerator


def counted(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        outputs = model(x)
        kept = (y >= 0) & (y <= 9)
        if kept.sum() == 0:
            continue  # expect: TRL006
        outputs = outputs[kept]
        labels = y[kept]
        if outputs.size(0) == 0:
            continue
        if len(labels) == 0:
            continue
        accelerator.backward(criterion(outputs, labels))


def asked_for_any(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        kept = y >= 0
        if not torch.any(kept):
            continue  # expect: TRL006
        labels = y[kept]
        if labels.numel() > 0:
            accelerator.backward(criterion(model(x)[kept], labels))


def by_indices(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        indices = torch.where(y >= 0)[0]
        if len(indices) == 0:
            continue  # expect: TRL006
        labels = y[indices]
        if labels.shape[0] == 0:
            continue
        accelerator.backward(criterion(model(x)[indices], labels))


def by_another_mask(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        kept = y >= 0
        if kept.sum() == 0:
            continue  # expect: TRL006
        kept = kept & (y <= 9)
        labels = y[kept]
        if labels.size(0) == 0:
            continue  # expect: TRL006
        accelerator.backward(criterion(model(x)[kept], labels))


def selected_again(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        kept = y >= 0
        if kept.sum() == 0:
            continue  # expect: TRL006
        labels = y[kept]
        labels = labels[labels <= 9]
        if labels.size(0) == 0:
            continue  # expect: TRL006
        accelerator.backward(criterion(model(x), labels))


def left_with_some(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        ignored = y < 0
        if ignored.sum() > 0:
            continue  # expect: TRL006
        labels = y[ignored]
        if labels.size(0) == 0:
            continue  # expect: TRL006
        accelerator.backward(criterion(model(x), labels))


def never_counted(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        kept = y >= 0
        labels = y[kept]
        if labels.size(0) == 0:
            continue  # expect: TRL006
        accelerator.backward(criterion(model(x)[kept], labels))


def assigned_beside_others(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        kept = y >= 0
        if kept.sum() == 0:
            continue  # expect: TRL006
        labels = y[kept]
        labels, kept = labels[labels <= 9], y <= 9
        if labels.size(0) == 0:
            continue  # expect: TRL006
        accelerator.backward(criterion(model(x), labels))
