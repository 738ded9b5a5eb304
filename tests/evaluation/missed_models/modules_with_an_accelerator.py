# A module that makes an Accelerator is an object with attributes of its own, and no network that somebody may wrap.
import torch
from accelerate import Accelerator


class Sampler(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.accelerator = Accelerator()
        self.net = self.accelerator.prepare(net)

    def save(self, folder):
        if self.accelerator.is_main_process:
            self.accelerator.wait_for_everyone()  # expect: TRL006
            torch.save(self.accelerator.unwrap_model(self.net).state_dict(), folder)
        self.accelerator.wait_for_everyone()


sampler = Sampler(torch.nn.Linear(2, 2))
sampler.save("out.pt")
if sampler.accelerator.is_main_process:
    sampler.accelerator.wait_for_everyone()  # expect: TRL006
