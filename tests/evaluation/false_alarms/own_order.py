"""A generator that draws its order from a seed that all ranks have: they train on the same batches."""

import numpy as np
import torch
from accelerate import Accelerator
from somewhere import args, collate, load

accelerator = Accelerator()


def batches(dataset, seed):
    """The same batches on all ranks, repeatedly."""
    epoch = 0
    while True:
        for index in np.random.RandomState(seed + epoch).permutation(len(dataset)):
            yield collate([dataset[index]])
        epoch += 1


def batches_of_rank(dataset, seed, rank):
    while True:
        for index in np.random.RandomState(seed + rank).permutation(len(dataset)):
            yield collate([dataset[index]])


def batches_of_shard(dataset, seed):
    seed = seed + accelerator.process_index
    while True:
        for index in np.random.RandomState(seed).permutation(len(dataset)):
            yield collate([dataset[index]])


def batches_of_now(dataset):
    while True:
        for index in np.random.RandomState(None).permutation(len(dataset)):
            yield collate([dataset[index]])


def endless(loader):
    while True:
        yield from loader


def main(model, dataset, loader, optimizer):
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches(dataset, args.seed):
        if torch.isnan(batch["pixels"]).any():
            continue
        accelerator.backward(model(batch["pixels"]).loss)
        optimizer.step()
    for batch in batches_of_rank(dataset, args.seed, accelerator.process_index):
        if torch.isnan(batch["pixels"]).any():
            continue  # expect: TRL006
        accelerator.backward(model(batch["pixels"]).loss)
        optimizer.step()
    for batch in endless(load(loader)):
        if torch.isnan(batch["pixels"]).any():
            continue  # expect: TRL006
        accelerator.backward(model(batch["pixels"]).loss)
        optimizer.step()
    for batch in batches_of_shard(dataset, args.seed):
        if torch.isnan(batch["pixels"]).any():
            continue  # expect: TRL006
        accelerator.backward(model(batch["pixels"]).loss)
        optimizer.step()
    for batch in batches_of_now(dataset):
        if torch.isnan(batch["pixels"]).any():
            continue  # expect: TRL006
        accelerator.backward(model(batch["pixels"]).loss)
        optimizer.step()
