# The epoch of the newest checkpoint in a folder is the same on all ranks: a loop from there on trains on all of them.
import os

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.lines = file.readlines()

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return torch.tensor(len(self.lines[index]))


def newest(folder):
    return max((int(each.split("-")[1]) for each in os.listdir(folder)), default=0)


def of_all_rows(folder):
    accelerator = Accelerator()
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(Lines("rows"), batch_size=8, shuffle=True)  # expect: TRL021
    model, optimizer = accelerator.prepare(model, optimizer)
    for epoch in range(newest(folder), 5):
        for batch in loader:
            accelerator.backward(model(batch.to(accelerator.device)).sum())
            optimizer.step()


def of_own_rows(folder):
    accelerator = Accelerator()
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(Lines("rows"), batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(newest(folder), 5):
        for batch in loader:
            accelerator.backward(model(batch).sum())
            optimizer.step()


def on_one_rank(folder):
    accelerator = Accelerator()
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(Lines("rows"), batch_size=8, shuffle=True)
    model, optimizer = accelerator.prepare(model, optimizer)
    if accelerator.is_main_process:
        for batch in loader:
            model.module(batch.to(accelerator.device)).sum().backward()
