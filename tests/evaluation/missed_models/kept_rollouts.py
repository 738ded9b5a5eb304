# What a rank has computed from its batches and keeps is its own, and so are the batches of a loader of that.
from collections import deque

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Rollout:
    def __init__(self, ids, old):
        self.ids, self.old = ids, old


class Buffer(Dataset):
    def __init__(self, limit):
        self.limit, self.items = limit, deque(maxlen=limit)

    def append(self, batch):
        self.items.append(batch)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Objects(Buffer):
    def __init__(self):
        self.items = []


class Prompts(Dataset):
    # All ranks have the same prompts.
    def __init__(self, path):
        self.rows = []
        for line in open(path):
            self.rows.append({"ids": line.split()})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def step(accelerator, model, optimizer, ids, old):
    logps = model(ids)
    accelerator.backward((logps - old).exp().mean())
    optimizer.step()
    return (old - logps).mean()


def train_on_buffer(accelerator, model, optimizer, loader):
    buffer = Buffer(64)
    for batch in loader:
        with torch.no_grad():
            old = model(batch["input_ids"])
        buffer.append({"ids": batch["input_ids"], "old": old})
        for rows in DataLoader(buffer, batch_size=4, shuffle=True):
            kl = step(accelerator, model, optimizer, rows["ids"], rows["old"])
            if kl > 0.1:
                break  # expect: TRL006


def train_on_objects(accelerator, model, optimizer, loader):
    buffer = Objects()
    for batch in loader:
        with torch.no_grad():
            old = model(batch["input_ids"])
        buffer.append(Rollout(batch["input_ids"], old))
        for rows in DataLoader(buffer, batch_size=4, collate_fn=torch.stack):
            kl = step(accelerator, model, optimizer, rows.ids, rows.old)
            if kl > 0.1:
                break  # expect: TRL006


def train_on_list(accelerator, model, optimizer, loader):
    rollouts = []
    for batch in loader:
        with torch.no_grad():
            old = model(batch["input_ids"])
        rollouts.append({"ids": batch["input_ids"], "old": old})
        if len(rollouts) < 8:
            continue
        for rows in DataLoader(rollouts, batch_size=2, shuffle=True):
            kl = step(accelerator, model, optimizer, rows["ids"], rows["old"])
        accelerator.log({"kl": kl.item()})  # expect: TRL003
        rollouts = []


def train_and_agree(accelerator, model, optimizer, loader):
    buffer = Buffer(64)
    for batch in loader:
        with torch.no_grad():
            old = model(batch["input_ids"])
        buffer.append({"ids": batch["input_ids"], "old": old})
        for rows in DataLoader(buffer, batch_size=4, shuffle=True):
            kl = step(accelerator, model, optimizer, rows["ids"], rows["old"])
            if accelerator.gather(kl).mean() > 0.1:
                break


def count_words(accelerator):
    for rows in DataLoader(Prompts("prompts.txt"), batch_size=4):
        if len(rows["ids"]) > 100:
            accelerator.wait_for_everyone()


def main(model, data):
    accelerator = Accelerator(log_with="wandb")
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8))
    train_on_buffer(accelerator, model, optimizer, loader)
    train_on_objects(accelerator, model, optimizer, loader)
    train_on_list(accelerator, model, optimizer, loader)
    train_and_agree(accelerator, model, optimizer, loader)
    count_words(accelerator)


main(torch.nn.Linear(3, 3), torch.rand(8, 3))
