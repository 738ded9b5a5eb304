"""A list that is filled in as many rounds as a setting says is as long on all ranks."""

import time

import torch
import yaml
from accelerate import Accelerator
from torch.utils.data import DataLoader


def up_to(accelerator, model, loader, settings):
    losses, own = [], []
    for i, batch in enumerate(loader):
        if i >= settings["eval_batches"]:
            break
        loss = model(batch).loss
        losses.append(accelerator.gather(loss))
        own.append(loss)
    reveal_rank(torch.cat(losses))  # revealed: same
    reveal_rank(torch.stack(own).mean())  # revealed: local(data)


def rounds(accelerator, model, settings):
    losses = []
    for i in range(settings["rounds"]):
        losses.append(accelerator.gather(model(i).loss))
    reveal_rank(len(losses))  # revealed: same
    reveal_rank(torch.cat(losses))  # revealed: same


def by_clock(settings):
    rounds = []
    for i in range(settings["rounds"]):
        if time.time() > settings["end"]:
            rounds.append(i)
    reveal_rank(len(rounds))  # revealed: unknown


def main(model, rows):
    accelerator = Accelerator()
    settings = yaml.safe_load(open("settings.yaml"))
    model, loader = accelerator.prepare(model, DataLoader(rows, batch_size=8))
    up_to(accelerator, model, loader, settings)
    rounds(accelerator, model, settings)
    by_clock(settings)


main(make_model(), make_rows())
