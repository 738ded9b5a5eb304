# A function that registers hooks with the accelerator of its caller: `save_state` runs them there, on all ranks.
import os

import torch
from accelerate import Accelerator


def registers(accelerator, rows):
    def waits_on_one(models, weights, folder):
        if accelerator.is_main_process:
            torch.save(rows, os.path.join(folder, "rows.pt"))
            accelerator.wait_for_everyone()  # expect: TRL006

    def writes_on_all(models, weights, folder):
        torch.save(rows, os.path.join(folder, "all.pt"))  # expect: TRL008

    def is_right(models, weights, folder):
        if accelerator.is_main_process:
            torch.save(rows, os.path.join(folder, "right.pt"))
        accelerator.wait_for_everyone()

    accelerator.register_save_state_pre_hook(waits_on_one)
    accelerator.register_save_state_pre_hook(writes_on_all)
    accelerator.register_save_state_pre_hook(is_right)


def registers_all(accelerator, rows):
    registers(accelerator, rows)


def makes(accelerator, rows):
    def writes_on_all(models, weights, folder):
        torch.save(rows, os.path.join(folder, "made.pt"))  # expect: TRL008

    return writes_on_all


def registers_for_one(accelerator, rows):
    def writes(models, weights, folder):
        torch.save(rows, os.path.join(folder, "one.pt"))

    accelerator.register_save_state_pre_hook(writes)


def registers_in_vain(accelerator, rows):
    def writes(models, weights, folder):
        torch.save(rows, os.path.join(folder, "vain.pt"))

    accelerator.register_save_state_pre_hook(writes)


def main(model, loader, rows):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    registers_all(accelerator, rows)
    accelerator.register_save_state_pre_hook(makes(accelerator, rows))
    if accelerator.is_main_process:
        registers_for_one(accelerator, rows)
    for batch in loader:
        accelerator.backward(model(batch).mean())
    accelerator.save_state("out")


def saves_before(model, rows):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    accelerator.save_state("out")
    registers_in_vain(accelerator, rows)
