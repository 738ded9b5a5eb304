# Two branches with the same collectives match, although one of them branches again.
import torch
import torch.distributed as dist
from accelerate import Accelerator


def summed(loss, mask, weighted):
    if mask.sum() == 0:
        total = torch.zeros_like(loss)
        dist.all_reduce(total)
    elif weighted:
        total = loss * mask.sum()
        dist.all_reduce(total)
    else:
        total = loss * 2
        dist.all_reduce(total)
    return total


def gathered(accelerator, rewards, clip):
    if rewards.max() > 10:
        scores = accelerator.gather(rewards.clamp(max=10.0)) if clip else accelerator.gather(rewards / rewards.max())
    else:
        scores = accelerator.gather(rewards)
    return scores.mean()


def gathered_by_some(accelerator, rewards):
    if rewards.max() > 10:
        return accelerator.gather(rewards.clamp(max=10.0)).mean()  # expect: TRL006
    return rewards.mean()


def train(model, optimizer, loader, weighted, clip):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        out = model(**batch)
        loss = summed(out.loss, batch["attention_mask"], weighted)
        rewards = out.logits[:, -1, 0]
        accelerator.print(gathered(accelerator, rewards, clip), gathered_by_some(accelerator, rewards))
        accelerator.backward(loss)
