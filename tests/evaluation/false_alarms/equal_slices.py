# Slices of gathered values are equal on all ranks, so all ranks leave or none.
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import gather_object


def of_objects(accelerator, texts, loss):
    everything = gather_object(texts)
    first = everything[:8]
    if len(first) == 0:
        return loss
    return accelerator.gather(loss).mean()


def of_tensor(accelerator, rewards):
    rewards = accelerator.gather(rewards)
    part = rewards[::2]
    if part.numel() < 2:
        return part
    dist.all_reduce(part)
    return part


def of_own(accelerator, rewards):
    part = rewards[rewards > 0]
    if part.numel() < 2:
        return part  # expect: TRL006
    return accelerator.gather(rewards)


def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        out = model(**batch)
        of_objects(accelerator, batch["texts"], out.loss)
        of_tensor(accelerator, out.logits[:, 0])
        of_own(accelerator, out.logits[:, 0])
