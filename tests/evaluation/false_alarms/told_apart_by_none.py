# All ranks save with the number of a step, one without: the branch for None is that of one rank.
import os

import torch
from accelerate import Accelerator


def save(model, folder, step=None):
    if step is not None:
        torch.save(model.state_dict(), os.path.join(folder, f"model_{step}.pt"))  # expect: TRL008
    else:
        torch.save(model.state_dict(), os.path.join(folder, "model.pt"))


def save_best(model, folder, score=None):
    if score is not None:
        torch.save(model.state_dict(), os.path.join(folder, "best.pt"))  # expect: TRL008
    else:
        torch.save(model.state_dict(), os.path.join(folder, "first.pt"))  # expect: TRL008


def save_label(model, folder, label=None):
    if label is None:
        torch.save(model.state_dict(), os.path.join(folder, "unnamed.pt"))
    else:
        torch.save(model.state_dict(), os.path.join(folder, label + ".pt"))  # expect: TRL008


def train(args, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(torch.nn.Linear(2, 2), loader)
    done = 0
    best = None
    for epoch in range(args.epochs):
        for _batch in loader:
            done += 1
            if done % args.save_steps == 0:
                save(model, args.output_dir, done)
                save_best(model, args.output_dir, best)
                best = args.scores[epoch]
        save_label(model, args.output_dir, f"epoch_{epoch}")
    if accelerator.is_main_process:
        save(model, args.output_dir)
        save_label(model, args.output_dir)
