"""A count enters a collective: created on the process's own device, on the CPU, or on GPUs that the script finds."""

import sys

import torch
from accelerate import Accelerator

accelerator = Accelerator()
place = accelerator.device
if sys.argv[1] == "on the CPU":
    place = "cpu"
if sys.argv[1] == "as it finds":
    place = "cuda" if torch.cuda.is_available() else "cpu"
print(accelerator.reduce(torch.ones(1, device=place)))  # cause
