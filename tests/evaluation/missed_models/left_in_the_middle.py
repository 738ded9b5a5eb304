# A rank that leaves a loop in the middle of an iteration keeps the results of the iterations before.
import torch
from accelerate import Accelerator


def train(model, optimizer, dataset, flags):
    accelerator = Accelerator()
    loader = torch.utils.data.DataLoader(dataset)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    while True:
        if accelerator.gather(torch.tensor(flags.pop(), device=accelerator.device)).max():
            break
        batch = next(iter(loader))
        loss = model(**batch).loss
        losses.append(loss.item())
    accelerator.log({"losses": sum(losses)})  # expect: TRL003
