# A file that is not written here exists for all ranks or for none.
import os
from datetime import datetime
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator


def resumed(accelerator, folder):
    state = os.path.join(folder, "resume.json")
    if os.path.isfile(state):
        accelerator.load_state(folder)
        accelerator.wait_for_everyone()


def cached(rank, folder):
    path = os.path.join(folder, f"shard_{rank}.pt")
    if os.path.isfile(os.path.join(folder, "config.json")):
        dist.barrier()
    return torch.load(path)


def written(accelerator, folder, model):
    path = os.path.join(folder, f"own_{accelerator.process_index}.pt")
    if os.path.isfile(path):
        accelerator.wait_for_everyone()  # expect: TRL006
    torch.save(model.state_dict(), path)


def loaded(accelerator, place):
    path = Path(place)
    if path.is_file():
        return torch.load(path)
    accelerator.wait_for_everyone()
    return None


def main(folder, model):
    accelerator = Accelerator()
    resumed(accelerator, folder)
    cached(accelerator.process_index, folder)
    written(accelerator, folder, model)
    loaded(accelerator, os.path.join(folder, datetime.now().strftime("%H-%M")))


main("out", torch.nn.Linear(2, 2))
