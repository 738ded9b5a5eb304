"""A small code base with two bugs, for the benchmarks on commits of public ones."""

import subprocess
from pathlib import Path

REPOSITORY = "somebody/training"
# A metric of one process in line 8, a file written by all processes in line 10.
TRAIN = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(make_model(), make_optimizer(), make_loader())
for batch in loader:
    loss = model(**batch).loss
    accelerator.log({"train_loss": loss.item()})
    accelerator.backward(loss)
torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
"""
METRIC, FILE = 8, 10


def git(where: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    done = subprocess.run(["git", "-C", str(where), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
