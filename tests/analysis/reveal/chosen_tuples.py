"""A tuple that a condition chooses: each of its items differs if the ranks choose differently."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
score = torch.rand(4, generator=torch.Generator().manual_seed(rank)).mean()

lowest, waited = (score, 0) if score < 1 else (1, 5)
reveal_rank(lowest)  # revealed: local(rng)
reveal_rank(waited)  # revealed: local(rng)
first, kept = (0, 7) if rank == 0 else (1, 7)
reveal_rank(first)  # revealed: local(rank)
reveal_rank(kept)  # revealed: same
(inner, _), outer = ((1, 2), 3) if rank == 0 else ((4, 2), 3)
reveal_rank(inner)  # revealed: local(rank)
reveal_rank(outer)  # revealed: same


def part(number):
    if number == 0:
        return 0, "first"
    return number - 1, "first"


reveal_rank(part(rank)[0])  # revealed: local(rank)
reveal_rank(part(rank)[1])  # revealed: same
if rank == 0:
    pair = 1, 2
else:
    pair = 1, 3
reveal_rank(pair[0])  # revealed: same
reveal_rank(pair[1])  # revealed: local(rank)

total = score.clone()
dist.all_reduce(total)
lowest, waited = (total, 0) if total < 1 else (1, 5)
reveal_rank(lowest)  # revealed: same
reveal_rank(waited)  # revealed: same
