# Ranks that raise end the job; whether the others leave by another path is the same on all of them.
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


def wait_wherever_it_ends(accelerator: Accelerator, missing, has_tool, load):
    if not accelerator.is_main_process:
        accelerator.wait_for_everyone()
        return
    if not missing:
        accelerator.wait_for_everyone()
        return
    if not has_tool:
        raise RuntimeError("nothing to load with")
    load(missing)
    accelerator.wait_for_everyone()


def do_not_wait_without_a_tool(accelerator: Accelerator, missing, has_tool, load):
    if not accelerator.is_main_process:
        accelerator.wait_for_everyone()
        return  # expect: TRL006
    if not missing:
        accelerator.wait_for_everyone()
        return
    if not has_tool:
        return
    load(missing)
    accelerator.wait_for_everyone()
