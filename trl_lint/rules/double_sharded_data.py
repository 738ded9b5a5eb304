"""Rows are dealt to the ranks twice.

## What it does
Reports data that two dealers divide among the ranks. The first is a `DistributedSampler` (torch's, a subclass, or a
sampler of the project that takes every n-th row from its rank on), or code that takes this rank's rows:
`rows.shard(world_size, rank)`, `split_dataset_by_node`, `rows[rank::world_size]`, a block of
`len(rows) // world_size` rows, a `Subset` of such indices, a data set of the project that keeps or gives only such
rows. The second is

- `accelerator.prepare` or `prepare_data_loader`, which deals the batches of any loader;
- a `Trainer` of Transformers or TRL, whose loaders are prepared: it is passed such rows, or a subclass returns such a
  sampler from `_get_train_sampler` or `_get_eval_sampler`;
- a `DistributedSampler` of such rows;
- the sampler that Lightning's trainer injects for such rows, or puts around such a sampler of the project.

## Why is this bad?
On N processes, each gets 1/N of its 1/N of the rows. In an epoch, all ranks together train on 1/N of the data: it is N
times too short, and the schedule counts N times too few steps. Where each epoch has the same order, the rest of the
rows are never seen. Nothing fails, and on one process all rows are there. `prepare` does not look at the sampler: it
wraps the batch sampler in a `BatchSamplerShard`, which gives each process every N-th batch. With `split_batches` each
rank gets a part of each of its batches, and with `dispatch_batches` a part of the first rank's: that is no more. No
release of Accelerate up to 1.15 tests for a `DistributedSampler`.

## Example
```python
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
```

## Use instead
```python
loader = DataLoader(dataset, batch_size=8, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
```

## Fix safety
Where a loader gets torch's own `DistributedSampler` in the same function, it gets `shuffle` instead, as the sampler
says. This is *unsafe*, because it changes which rows are trained on, and how many steps an epoch has. All else is a
*hint*: whether to keep the first dealer or the second is for the author to say.

## Limits
Not reported: samplers that are told a number of ranks that is not known to be that of all (data-parallel groups in a
larger mesh, one node), and rows that are divided by something else; loaders that are prepared under a condition whose
outcome on several ranks is not known, unless what is dealt first is under the same, or it only asks whether there is a
loader; loaders that have been prepared before, and those of `skip_first_batches`; trainers that make their loaders
themselves; samplers of a Trainer in a project that pins a release of Transformers before 4.31, whose loaders were not
prepared, or has a copy of it, or if the hook is written as those of such releases are (`local_rank`); projects that
change `BatchSamplerShard`. For Lightning, only in projects that create its trainer with all arguments written out, and
never mention `use_distributed_sampler`; it does not inject a sampler for streams, nor beside a `DistributedSampler`,
and where `pytorch_lightning` is imported it may be a release that replaces other samplers. For rows that `__iter__` or
`__getitem__` of a data set picks, only where they do so by attributes that hold the rank and the number of ranks in all
its objects, or for which the call that makes this object, or a method of it, is passed both.

What an option decides counts: rows that are a rank's own only with some setting (`if args.streaming: …`) are reported
if they are dealt again with any.

## References
- `prepare_data_loader` and `BatchSamplerShard` in accelerate/data_loader.py, read in 0.12, 0.20, 0.34, 1.6 and 1.15
- transformers 4.31, `Trainer.get_train_dataloader`: it returns `self.accelerator.prepare(DataLoader(…))`; in 4.30, the
  sampler is a `DistributedSampler`, and the loader is not prepared. `Trainer._get_dataloader` of release 5.24 undoes
  the second dealing for its own `BatchRebalanceSampler`
- https://github.com/2U1/Qwen2-VL-Finetune/commit/c302d322b84ada0f4a624ba49564a500d31f58e7: loaders with a
  `DistributedSampler` are no longer prepared
- https://lightning.ai/docs/pytorch/stable/common/trainer.html#use-distributed-sampler; lightning 2,
  trainer/connectors/data_connector.py `_get_distributed_sampler`, which makes a `DistributedSamplerWrapper`
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.data_events import DealtTwice
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation

_TRAINER = "the Trainer"
_LIGHTNING = "Lightning's sampler"


class DoubleShardedData(Rule[DealtTwice]):
    code = "TRL022"
    name = "double-sharded-data"
    consequences = (Consequence.WRONG_TRAINING, Consequence.WRONG_NUMBER)
    preview = True

    def check(self, event: DealtTwice) -> Iterator[Violation]:
        if event.module.one_process:
            return
        yield Violation(
            event=event,
            message=_message(event),
            provenance=event.second,
            help=_help(event),
            consequence=Consequence.WRONG_NUMBER if event.evaluates else None,
            cause=id(event.first.node),
        )


def _message(event: DealtTwice) -> str:
    first = "a sampler gives each rank its share of the rows" if event.by_sampler else "each rank takes its own rows"
    used = "an evaluation" if event.evaluates else "an epoch"
    return (
        f"{first}, and {event.again} deals them to the ranks again: on several GPUs each rank gets a share of its "
        f"share, and {used} leaves out all other rows"
    )


def _help(event: DealtTwice) -> str:
    if event.by_sampler and event.again == _TRAINER:
        return "return a sampler of all rows, such as `RandomSampler`: the Trainer's loader deals its batches"
    if event.by_sampler and event.again == _LIGHTNING:
        return "create the trainer with `use_distributed_sampler=False`, or give the loader a sampler of all rows"
    if event.by_sampler:
        return f"make the loader with `shuffle=True` and no sampler, as {event.again} deals its batches"
    instead = {_LIGHTNING: "create the trainer with `use_distributed_sampler=False`"}
    other = instead.get(event.again, "")
    return f"pass on all rows, as {event.again} deals them" + (f", or {other}" if other else "")
