"""What ranks set before a `continue` differs from what the others have that go on with the iteration."""

import torch
from accelerate import Accelerator

accelerator = Accelerator()


def flags(model, loader, limit):
    model, loader = accelerator.prepare(model, loader)
    failed = skipped = 0
    seen = done = 0
    long = False
    for step, batch in enumerate(loader):
        recent = False
        loss = model(**batch).loss
        seen += 1
        if loss.isnan():
            failed = True
            recent = True
            skipped += 1
            continue
        if step > limit:
            long = True
            continue
        reveal_rank(failed)  # revealed: local(data)
        reveal_rank(recent)  # revealed: same
        done += 1
    reveal_rank(failed)  # revealed: local(data)
    reveal_rank(recent)  # revealed: local(data)
    reveal_rank(skipped)  # revealed: local(data)
    reveal_rank(long)  # revealed: same
    reveal_rank(seen)  # revealed: same


def counted_by_all(model, loader, limit):
    model, loader = accelerator.prepare(model, loader)
    step = shown = 0
    first, usual, left = True, False, 0
    for batch in loader:
        loss = model(**batch).loss
        if loss.isnan():
            step += 1
            first = usual = False
            left = 1
            continue
        loss.backward()
        step += 1
        first, usual = False, True
        left += 2
    reveal_rank(step)  # revealed: same
    reveal_rank(first)  # revealed: same
    reveal_rank(usual)  # revealed: local(data)
    while shown < limit:
        if model(shown).loss.isnan():
            shown = shown + 1
            continue
        shown = shown + 1
    reveal_rank(shown)  # revealed: same


def agreed(model, loader):
    model, loader = accelerator.prepare(model, loader)
    failed = False
    for batch in loader:
        loss = model(**batch).loss
        if accelerator.gather(loss).isnan().any():
            failed = True
            continue
        loss.backward()
    reveal_rank(failed)  # revealed: same


def of_one_rank(rows):
    found = other = False
    for row in rows:
        if accelerator.is_main_process:
            found, other = True, False
            continue
        print(row)
    reveal_rank(found)  # revealed: local(rank)
    reveal_rank(other)  # revealed: same


flags(torch.nn.Linear(2, 2), torch.utils.data.DataLoader(range(4)), 3)
counted_by_all(torch.nn.Linear(2, 2), torch.utils.data.DataLoader(range(4)), 3)
agreed(torch.nn.Linear(2, 2), torch.utils.data.DataLoader(range(4)))
of_one_rank(range(4))
