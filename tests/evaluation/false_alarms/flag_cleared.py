# Before ranks leave, the flag for the gather of the others has been cleared.
import torch.distributed as dist
from accelerate import Accelerator


def validate(accelerator: Accelerator, items, split):
    if split and len(items) < accelerator.num_processes:
        split = False
        if not accelerator.is_main_process:
            return None
    done = [str(item) for item in items]
    if split:
        gathered = [None] * accelerator.num_processes
        dist.all_gather_object(gathered, done)
    return done


def validate_alone(accelerator: Accelerator, items, split):
    if len(items) < accelerator.num_processes:  # noqa: SIM102
        if not accelerator.is_main_process:
            return None  # expect: TRL006
    done = [str(item) for item in items]
    if split:
        gathered = [None] * accelerator.num_processes
        dist.all_gather_object(gathered, done)
    return done


def validate_anew(accelerator: Accelerator, items, split):
    if split and len(items) < accelerator.num_processes:
        split = False
        if not accelerator.is_main_process:
            return None  # expect: TRL006
    split = len(items) > 1
    if split:
        gathered = [None] * accelerator.num_processes
        dist.all_gather_object(gathered, items)
    return items
