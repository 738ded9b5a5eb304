# A dict whose entries are attributes too holds what it is given: reduced values are right, this rank's own are not.
import torch
import wandb
from accelerate import Accelerator


class Entries(dict):
    def __getattr__(self, name):
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value


class Averages:
    def __init__(self):
        self.values = {}

    def store(self, name, value):
        self.values[name] = value


accelerator = Accelerator()
model, loader = accelerator.prepare(torch.nn.Linear(2, 1), torch.utils.data.DataLoader(torch.load("rows.pt")))
averages = Averages()
for batch in loader:
    error = model(batch).abs().max()
    found = Entries(error=accelerator.gather(error).max(), rate=0.1)
    found.scale = accelerator.gather(error).min()
    for name, value in found.items():
        averages.store(f"train/{name}", value)
    own = Entries(error=error)  # expect: TRL003
    for name, value in own.items():
        averages.store(f"own/{name}", value)
    if accelerator.is_main_process:
        wandb.log(averages.values)
