"""Every rank trains on all rows.

## What it does
Reports a `DataLoader` without a sampler on whose batches a model in DistributedDataParallel, FSDP or DeepSpeed's engine
is trained, if the data set is one that each rank has all of, and nothing in the program shares its rows out. With
Accelerate: a loader that does not go through `prepare`, as the model does. With a Trainer: a loader that a method
`get_train_dataloader` of the project returns as it is, which the Trainer does not prepare again.

## Why is this bad?
A `DataLoader` knows nothing of ranks, and DistributedDataParallel only averages gradients: it does not divide the data.
Without a sampler that does, each rank goes through the whole data set. With `shuffle=True`, N GPUs make as many steps
in an epoch as one, and train on each row N times: it takes as long as on one GPU, and the schedule and the number of
epochs mean something else. Without `shuffle=True`, or with the same seed on all ranks, all GPUs have the same batch in
each step and compute the same gradient: all but one of them gain nothing. No error says so.

## Example
```python
dist.init_process_group("nccl")
model = DistributedDataParallel(model)
loader = DataLoader(dataset, batch_size=8, shuffle=True)
for epoch in range(epochs):
    for batch in loader:
        train_step(model, batch)
```

## Use instead
```python
dist.init_process_group("nccl")
model = DistributedDataParallel(model)
loader = DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset))
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    for batch in loader:
        train_step(model, batch)
```

## Fix safety
`sampler=DistributedSampler(dataset)` takes the place of `shuffle=True`. This is *unsafe*, because an epoch then has
fewer steps. Its `set_epoch`, which TRL019 asks for next, has a fix of its own. It is a *hint* if the call does not say
all that is needed, if the process group is not certain to exist there, as in code for one process too, and with
Accelerate, whose `prepare` gives a loader its sampler.

## Limits
Reported only if it is known what the rows are: an object of a class of the project with `__getitem__` and `__len__`, a
data set of Hugging Face or torchvision, or a part of one (`random_split`, `Subset`). Not reported: classes whose code
or attributes know the rank, or that draw their rows at random; iterable data sets; loaders that `Accelerator.prepare`,
Fabric, a Trainer's own method or `deepspeed.initialize` makes anew; batches taken by `next(…)`; loops that compute no
gradients; programs of one process; and programs that know of shares anywhere in the files of the loop, the loader and
the data set, or in those that the first imports: a `DistributedSampler` (unless it is made beside the loader and given
to loaders of other rows only, or to none), `rows[rank::size]`, seeds by rank, tensor parallelism, groups of ranks. A
Trainer's loader is not reported if any file of the project knows of shares, or if its class prepares something or has a
loop of its own.

## References
- https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html, and
  https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler: "each process can pass
  a `DistributedSampler` instance as a `DataLoader` sampler, and load a subset of the original dataset that is exclusive
  to it."
- transformers 4.36.2 to 5.24.0, trainer.py: `Trainer.get_train_dataloader` prepares its loader itself, and what calls
  it takes what it gets
- https://github.com/haoxiangsnr/FullSubNet, ea9bec0c, train.py
- https://github.com/pyg-team/pytorch_geometric, e27d935e, examples/multi_gpu/distributed_sampling.py
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import UnshardedData
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation

_SAME = "all GPUs train on the same batch in each step, and all but one gain nothing"
_MORE = "an epoch on N GPUs has as many steps as on one, and trains on each row N times"


class UnshardedDataRule(Rule[UnshardedData]):
    code = "TRL021"
    name = "unsharded-data"
    consequences = (Consequence.WRONG_TRAINING,)
    preview = True

    def check(self, event: UnshardedData) -> Iterator[Violation]:
        if event.module.one_process:
            return
        in_order = event.shuffles is False
        is_here = event.node is event.loader.node
        loader = "this loader has" if is_here else "the loader of these batches has"
        yield Violation(
            event=event,
            message=f"{loader} no sampler, so each rank goes through all rows: {_SAME if in_order else _MORE}",
            provenance=event.loader.before if is_here else event.loader,
            help=_help(event),
            cause=id(event.loader.node),
        )


def _help(event: UnshardedData) -> str:
    if event.by_trainer:
        return (
            "return `self.accelerator.prepare(…)` of it from `get_train_dataloader`, as the Trainer's own method does"
        )
    if event.prepared:
        return "pass it to `prepare`, as the model"
    if event.shuffles is False:
        return "pass it `sampler=DistributedSampler(…, shuffle=False)`"
    return "pass it `sampler=DistributedSampler(…)` instead of `shuffle`, and call `set_epoch` of that in each epoch"
