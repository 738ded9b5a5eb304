# Hooks registered with the Accelerator run when the state is saved and loaded; under DDP they receive bare models.
import os

import torch
from accelerate import Accelerator


class Net(torch.nn.Module):
    config = {"width": 2}


def main(args, x):
    accelerator = Accelerator()
    model = Net()

    def save_hook(models, weights, output_dir):
        print(model.config)  # expect: TRL002
        for m in models:
            print(m.config)
            weights.pop()
        torch.save({}, os.path.join(output_dir, "x"))  # expect: TRL008

    def load_hook(models, input_dir):
        while len(models) > 0:
            m = models.pop()
            accelerator.gather(x)
        if accelerator.is_main_process:
            accelerator.gather(x)  # expect: TRL006

    accelerator.register_save_state_pre_hook(save_hook)
    accelerator.register_load_state_pre_hook(load_hook)
    model = accelerator.prepare(model)
    accelerator.load_state("x")
    accelerator.save_state("x")


def main2(args, x):
    accelerator = Accelerator()

    def save_hook(models, weights, output_dir):
        torch.save({}, os.path.join(output_dir, "x"))

    accelerator.register_save_state_pre_hook(save_hook)
    if accelerator.is_main_process:
        accelerator.save_state("x")  # reported by TRL016, if the project uses an engine that saves on all ranks


class Trains:
    def __init__(self, args):
        self.accelerator = Accelerator()
        self.args = args

    def register(self):
        self.hooks = Hooks(self.accelerator, self.args)
        self.accelerator.register_save_state_pre_hook(self.hooks.save)
        self.accelerator.register_load_state_pre_hook(self.hooks.load)

    def keep(self):
        self.accelerator.load_state("x")
        if self.accelerator.is_main_process:
            self.accelerator.save_state("x")  # expect: TRL006


class Hooks:
    def __init__(self, accelerator, args):
        self.accelerator = accelerator
        self.args = args

    def save(self, models, weights, output_dir):
        if self.args.lora:
            self.accelerator.wait_for_everyone()
        torch.save({}, os.path.join(output_dir, "x"))

    def load(self, models, input_dir):
        self.accelerator.wait_for_everyone()
        os.remove(os.path.join(input_dir, "x"))  # expect: TRL008
