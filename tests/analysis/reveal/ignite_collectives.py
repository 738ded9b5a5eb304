"""Ignite's helpers: collectives that take tensors and numbers, and loaders that share out their rows."""

import ignite.distributed as idist
from ignite.distributed.auto import auto_dataloader
from torch.utils.data import BatchSampler

dataset = load()
loader = idist.auto_dataloader(dataset, batch_size=8, shuffle=True)
for batch in loader:
    loss = batch["x"].mean()
    reveal_rank(loss)  # revealed: partial(mean)
    reveal_rank(idist.all_gather(loss))  # revealed: same
    reveal_rank(idist.all_gather(loss.item()))  # revealed: same
    reveal_rank(idist.broadcast(loss, src=0))  # revealed: same
    reveal_rank(idist.all_reduce(loss))  # revealed: same
for batch in auto_dataloader(dataset, batch_sampler=BatchSampler(dataset, 4, drop_last=True)):
    reveal_rank(batch["x"])  # revealed: unknown
for batch in auto_dataloader(dataset, **options()):
    reveal_rank(batch["x"])  # revealed: unknown
reveal_rank(idist.get_rank())  # revealed: local(rank)
reveal_rank(idist.get_world_size())  # revealed: same
