# A test of one rank leaves the others out, whatever else is asked beside it: what a setting, or a listed folder, says.
import os
import sys

import torch
import yaml
from accelerate import Accelerator
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter


def mean_loss(accelerator, model, loader):
    losses = []
    with torch.no_grad():
        for batch in loader:
            losses.append(accelerator.gather_for_metrics(model(**batch).loss.repeat(8)))
    return torch.cat(losses).mean().item()


def by_writer(accelerator, model, optimizer, loader, rows, settings):
    writer = None
    if accelerator.is_main_process:
        writer = SummaryWriter("runs")
    for step, batch in enumerate(loader):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        if writer is not None and step % settings["every"] == 0:
            writer.add_scalar("loss", mean_loss(accelerator, model, rows), step)  # expect: TRL006


def by_writer_alone(accelerator, model, optimizer, loader, rows, settings):
    writer = None
    if accelerator.is_main_process:
        writer = SummaryWriter("runs")
    for step, batch in enumerate(loader):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        if step % settings["every"] == 0:
            found = mean_loss(accelerator, model, rows)
            if writer is not None:
                writer.add_scalar("loss", found, step)


def on_the_right(accelerator, model, optimizer, loader, rows, settings):
    writer = None
    if accelerator.is_main_process:
        writer = SummaryWriter("runs")
    for step, batch in enumerate(loader):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        if step % settings["every"] == 0 and writer is not None:
            writer.add_scalar("loss", mean_loss(accelerator, model, rows), step)  # expect: TRL006


def by_number(accelerator, model, optimizer, loader, rows, settings):
    width = 1 if accelerator.is_main_process else 2
    for step, batch in enumerate(loader):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        if width and step % settings["every"] == 0:
            accelerator.print(mean_loss(accelerator, model, rows))


def newest(folder):
    names = [each for each in os.listdir(folder) if each.startswith("step_")]
    return max(int(each.split("_")[1]) for each in names) if names else 0


def after_resume(accelerator, model, optimizer, loader, rows, settings):
    done = newest(settings["folder"])
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        done += 1
        if done % settings["every"] == 0:
            accelerator.print(mean_loss(accelerator, model, rows))
        if done % settings["every"] == 0 and accelerator.is_main_process:
            accelerator.wait_for_everyone()  # expect: TRL006
            print(done)


def main(net, rows, settings):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(net.parameters())
    loader = DataLoader(rows, batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    other = accelerator.prepare(DataLoader(rows, batch_size=8))
    by_writer(accelerator, model, optimizer, loader, other, settings)
    by_writer_alone(accelerator, model, optimizer, loader, other, settings)
    on_the_right(accelerator, model, optimizer, loader, other, settings)
    by_number(accelerator, model, optimizer, loader, other, settings)
    after_resume(accelerator, model, optimizer, loader, other, settings)


with open(sys.argv[1]) as file:
    main(make_net(), make_rows(), yaml.safe_load(file))
