# A loss that the main process changes in place before it shows it: the forward that it comes from is not run again.
import torch
from accelerate import Accelerator


def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach()
        shown = accelerator.reduce(total, reduction="mean")
        if accelerator.is_main_process:
            loss.mul_(2)
            torch.save(shown, "loss.pt")
