# Ranks that leave a loop over the known items of a dict or list take along what they have set there.
import torch
from accelerate import Accelerator


def are_finite(losses):
    ok = True
    for _, value in losses.items():
        if not torch.isfinite(value):
            ok = False
            break
    return ok


def are_full(losses):
    ok = True
    for name in losses:
        if name == "other":
            ok = False
            break
    return ok


def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        losses = {"text": model(**batch).loss, "image": model(**batch).aux_loss}
        if not are_full(losses):
            continue
        if not are_finite(losses):
            continue  # expect: TRL006
        accelerator.backward(losses["text"] + losses["image"])
        optimizer.step()


def agreed(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        losses = {"text": accelerator.gather(loss).mean(), "size": accelerator.gather(loss).std()}
        if not are_finite(losses):
            continue
        accelerator.backward(loss)
        optimizer.step()


def stops_behind(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    steps, stop = 0, False
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        for name in ("lowest", "highest"):
            print(name)
            if accelerator.gather(loss).mean() < 0.1:
                stop = True
                break
            steps += 1
        if stop:
            break
        if steps % 100 == 0:
            accelerator.wait_for_everyone()
        optimizer.step()
