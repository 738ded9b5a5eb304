# All ranks fill a list at the same places, with other values: it is empty on all of them, or on none.
import torch
from accelerate import Accelerator

accelerator = Accelerator()


def gathered(model, loader):
    model, loader = accelerator.prepare(model, loader)
    ids, scores = [], []
    for batch in loader:
        if "ids" in batch:
            ids.extend(batch["ids"])
        scores += batch["scores"].tolist()
    if len(ids):
        accelerator.gather(torch.stack(ids))
    if len(scores) > 0:
        accelerator.wait_for_everyone()
    if len(scores) > 8:
        accelerator.wait_for_everyone()  # expect: TRL006


def picked(model, loader):
    model, loader = accelerator.prepare(model, loader)
    ids = []
    for batch in loader:
        if batch["scores"].sum().item() > 0:
            continue
        ids.extend(batch["ids"].tolist())
    if len(ids):
        accelerator.wait_for_everyone()  # expect: TRL006
