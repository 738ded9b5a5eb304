# Ranks that raise end the job; that the others may leave by another way is the same on all of them.
from accelerate import Accelerator


def train(accelerator: Accelerator, model, optimizer, loader, most):
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        if batch["labels"].sum() == 0:
            raise ValueError("nothing to learn from")
        elif step == most:
            break
        accelerator.gather(batch["labels"].sum())


def train_on_the_rest(accelerator: Accelerator, model, optimizer, loader, most):
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        if batch["labels"].sum() == 0:
            continue  # expect: TRL006
        elif step == most:
            break
        accelerator.gather(batch["labels"].sum())


def either_way_out(accelerator: Accelerator, loss, mask):
    accelerator.gather(loss)
    if accelerator.is_main_process:
        return accelerator.gather(mask)  # expect: TRL006
    else:
        return mask
