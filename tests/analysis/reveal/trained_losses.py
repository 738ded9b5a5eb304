"""A loss that something unknown has computed, and with which a wrapped model is trained."""

import math

import deepspeed
import torch
import torch.distributed as dist
from accelerate import Accelerator
from somewhere import build, compute, forward, rows, reduced, mean_across_ranks
from torch.nn.parallel import DistributedDataParallel

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(build(), build(), rows())


def one(engine):
    for batch in rows():
        loss = compute(batch)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(torch.isnan(loss).any())  # revealed: local(data)
        reveal_rank(math.isfinite(loss.item()))  # revealed: local(data)
        accelerator.backward(loss)
        shown = compute(batch)
        reveal_rank(shown)  # revealed: unknown
        reveal_rank(accelerator.gather(loss).mean())  # revealed: same


def several(engine):
    for batch in rows():
        loss, metrics = engine.compute(batch)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(metrics)  # revealed: unknown
        loss = loss / 4
        reveal_rank(loss)  # revealed: local(data)
        loss.backward()


def of_a_sum(engine, scaler):
    for batch in rows():
        losses = forward(batch)
        total = sum(losses.values())
        reveal_rank(total)  # revealed: local(data)
        scaler.scale(total).backward()


def changed_on_one_way(engine, scaled):
    for batch in rows():
        loss = engine.compute(batch)
        reveal_rank(loss)  # revealed: local(data)
        if scaled:
            loss = loss.mean() * 2
        accelerator.backward(loss)


class Job:
    def __init__(self, engine):
        self.engine = engine
        self.model = DistributedDataParallel(build())

    def train(self):
        for batch in rows():
            loss = self.engine.compute(batch)
            reveal_rank(loss)  # revealed: local(data)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)


def under_deepspeed(engine):
    model, *_ = deepspeed.initialize(model=build())
    for batch in rows():
        loss = compute(model(batch))
        reveal_rank(loss)  # revealed: local(data)
        model.backward(loss)


def in_a_function(engine, scaler):
    for batch in rows():
        total = forward(batch)
        reveal_rank(total)  # revealed: local(data)
        engine.backward(total, scaler)


def reduced_before(engine):
    for batch in rows():
        loss = reduced(engine.compute(batch))
        reveal_rank(loss)  # revealed: unknown
        accelerator.backward(loss)
        other = mean_across_ranks(engine, batch)
        reveal_rank(other)  # revealed: unknown
        accelerator.backward(other)


def reduced_in_place(engine):
    for batch in rows():
        loss = compute(batch)
        dist.all_reduce(loss)
        reveal_rank(loss)  # revealed: same
        accelerator.backward(loss)


def reduced_afterwards(engine):
    for batch in rows():
        loss = compute(batch)
        accelerator.backward(loss)
        loss = compute(loss)
        reveal_rank(loss)  # revealed: unknown


@torch.no_grad()
def without_gradients(engine):
    loss = compute(engine)
    reveal_rank(loss)  # revealed: unknown
    loss.backward()
