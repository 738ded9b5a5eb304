"""A progress bar that only one rank shows runs through as many batches on all ranks."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from tqdm.auto import tqdm


def shown_by_one(accelerator, model, loader):
    found = []
    for batch in tqdm(loader, desc="eval", disable=not accelerator.is_local_main_process):
        found.append(accelerator.gather_for_metrics(model(batch)))
    reveal_rank(len(found))  # revealed: same
    reveal_rank(torch.cat(found))  # revealed: same


def shown_and_counted(accelerator, model, loader):
    found = []
    for _, batch in enumerate(tqdm(loader, disable=not accelerator.is_main_process)):
        found.append(accelerator.gather_for_metrics(model(batch)))
    reveal_rank(torch.cat(found))  # revealed: same


def by_one(accelerator, model, loader, rows):
    found = []
    for each in tqdm(rows.of(accelerator.is_main_process), desc="eval"):
        found.append(each)
    reveal_rank(len(found))  # revealed: unknown


def main(model, rows):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(rows, batch_size=8))
    shown_by_one(accelerator, model, loader)
    shown_and_counted(accelerator, model, loader)
    by_one(accelerator, model, loader, rows)


main(make_model(), make_rows())
