# Clips as long as the shortest sample of all ranks have the same length on all of them, wherever they start.
import random

import torch
from accelerate import Accelerator


def train(model, optimizer, loader, most):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for waves, lengths in loader:
        length = min(accelerator.gather(lengths).min().item() // 2 - 1, most)
        clips = []
        for row, wave in enumerate(waves):
            start = random.randrange(lengths[row].item() // 2 - length)
            clips.append(wave[:, (start * 2) : ((start + length) * 2)])
        clips = torch.stack(clips)
        if clips.shape[-1] < 80 or clips.size(-1) > 8000:
            continue
        accelerator.backward(model(clips).mean())
        optimizer.step()


def by_own_length(model, optimizer, loader, most):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for waves, lengths in loader:
        length = min(lengths.min().item() // 2 - 1, most)
        clips = []
        for row, wave in enumerate(waves):
            start = random.randrange(lengths[row].item() // 2 - length)
            clips.append(wave[:, (start * 2) : ((start + length) * 2)])
        clips = torch.stack(clips)
        if clips.shape[-1] < 80:
            continue  # expect: TRL006
        accelerator.backward(model(clips).mean())
        optimizer.step()


def by_own_end(model, optimizer, loader, most):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for waves, lengths in loader:
        length = min(accelerator.gather(lengths).min().item() // 2 - 1, most)
        start = random.randrange(lengths.min().item() - length)
        clips = waves[:, start * 2 : lengths.min().item()]
        if clips.shape[-1] < 80:
            continue  # expect: TRL006
        accelerator.backward(model(clips).mean())
        optimizer.step()


def main(model, optimizer, loader, most):
    train(model, optimizer, loader, most)
    by_own_length(model, optimizer, loader, most)
    by_own_end(model, optimizer, loader, most)
