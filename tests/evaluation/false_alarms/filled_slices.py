"""Slices that a loop over steps cuts from each rank's own rows: each step begins before the end, so none is empty."""

import math

import torch
from accelerate import Accelerator
from tqdm import tqdm

SIZE = 32


def own_rows(accelerator, rows):
    each = len(rows) // accelerator.num_processes
    return [row for row in rows[accelerator.process_index * each :] if row.is_long]


def by_steps(accelerator, model, rows):
    own = own_rows(accelerator, rows)
    steps = (len(own) + SIZE - 1) // SIZE
    for step in range(steps):
        start = step * SIZE
        end = min((step + 1) * SIZE, len(own))
        batch = own[start:end]
        if not batch:
            continue
        accelerator.gather(model(batch))


def by_ceil(accelerator, model, rows, size):
    own = own_rows(accelerator, rows)
    for step in tqdm(range(math.ceil(len(own) / size))):
        batch = own[step * size : (step + 1) * size]
        if len(batch) == 0:
            accelerator.wait_for_everyone()
        model(batch)


def by_starts(accelerator, model, rows, size):
    own = own_rows(accelerator, rows)
    for start in range(0, len(own), size):
        batch = own[start : start + size]
        if not batch:
            accelerator.wait_for_everyone()
        model(batch)


def of_others(accelerator, model, rows, size):
    own = own_rows(accelerator, rows)
    for start in range(0, len(rows), size):
        batch = own[start : start + size]
        if not batch:
            accelerator.wait_for_everyone()  # expect: TRL006
        model(batch)


def of_several(accelerator, model, rows, size):
    own = own_rows(accelerator, rows)
    for start in range(0, len(own), size):
        batch = own[start + 1 : start + size]
        if not batch:
            accelerator.wait_for_everyone()  # expect: TRL006
        model(batch)


def up_to_a_limit(accelerator, model, rows, limit):
    own = own_rows(accelerator, rows)
    for step in range(limit):
        batch = own[step * SIZE : (step + 1) * SIZE]
        if not batch:
            accelerator.wait_for_everyone()  # expect: TRL006
        model(batch)


def that_get_shorter(accelerator, model, rows, size):
    own = own_rows(accelerator, rows)
    for start in range(0, len(own), size):
        batch = own[start : start + size]
        if not batch:
            accelerator.wait_for_everyone()  # expect: TRL006
        model(batch)
        own.pop()


def filtered(accelerator, model, rows, size):
    own = own_rows(accelerator, rows)
    for start in range(0, len(own), size):
        batch = own[start : start + size]
        batch = [row for row in batch if row.is_short]
        if not batch:
            accelerator.wait_for_everyone()  # expect: TRL006
        model(batch)


def of_a_share(accelerator, model, rows, size):
    count = len(rows)
    rows = own_rows(accelerator, rows)
    for start in range(0, count, size):
        batch = rows[start : start + size]
        if not batch:
            accelerator.wait_for_everyone()  # expect: TRL006
        model(batch)


def of_a_counted_share(accelerator, model, rows, size):
    rows = own_rows(accelerator, rows)
    count = len(rows)
    for start in range(0, count, size):
        batch = rows[start : start + size]
        if not batch:
            accelerator.wait_for_everyone()
        model(batch)


def main(rows, limit):
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(2, 2))
    for each in (by_steps, of_others):
        each(accelerator, model, rows)
