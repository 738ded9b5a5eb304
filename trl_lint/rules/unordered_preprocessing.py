"""Every rank processes and caches the same data set at once.

## What it does
Reports `map` and `filter` of a data set (of the `datasets` library) in code that every rank runs, such as the
`__init__` of a Trainer or a script that starts one, if no rank goes first. It also reports
`local_main_process_first()` around them, which lets one rank of *each node* go first.

## Why is this bad?
`map` writes its result to a cache file, which later calls read. Without an order, no rank finds the file: on eight
GPUs all ranks tokenise the whole data set, eight times, and write the same file. With `local_main_process_first()`,
one rank per node does so at the same time, and on a shared file system they write the same file.

## Example
```python
train_dataset = train_dataset.map(tokenize)
```

## Use instead
```python
with PartialState().main_process_first():
    train_dataset = train_dataset.map(tokenize)
```
The main process computes; the others wait and then read its file.

## Fix safety
The statement is put into the `with` block. Every rank must reach the block's barriers, so only code that every rank is
known to reach is reported; on one process the block does nothing. The fix is *unsafe*, because the other ranks wait in
a barrier while the main process computes. If that takes longer than the collective time-out (10 minutes with nccl, 30
with gloo, unless set by `timeout=` of `init_process_group`, `InitProcessGroupKwargs` or `ddp_timeout`), the run fails.
Increase the time-out, or process the data set once before launching the training.

Letting one rank of the job go first instead of one per node is *unsafe* too: nodes without a shared file system then
compute on all their ranks. It is a *hint* in a loop, if the call is part of a larger statement, in a script for a
release of Transformers without Accelerate, and if the comment above says that each node is meant to compute.

## Limits
Only what a trainer class prepares on all ranks is in the default set. `--extend-select TRL012` also reports scripts,
and one rank per node going first, which only matters on several nodes.

These are correct and not reported:

- streaming data sets, data sets made in memory (`Dataset.from_dict`), `keep_in_memory=True`,
  `load_from_cache_file=False`, and projects that call `datasets.disable_caching()`;
- what the cells of a notebook do that starts processes, as its kernel does that once, before;
- shards of each rank, work that only some ranks do, and blocks of context managers from outside the project;
- the idiom in the `datasets` documentation: some ranks wait in a barrier before the call, the others after it;
- models loaded with `device_map="auto"`, and tests (pytest, unittest), which run as one process;
- data after an unseeded shuffle or a split, and functions that read something with the rank in it
  (`TrainingArguments`, arguments with `--local_rank`): their cache file differs on each rank, whatever the order;
- `TrainingArguments.main_process_first()`, whatever its `local` is.

## References
- https://github.com/huggingface/trl/pull/1291 and https://github.com/huggingface/trl/pull/3106
- https://huggingface.co/docs/accelerate/package_reference/state#accelerate.PartialState.main_process_first
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.data_events import DatasetPrepared
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, FirstRank, Uniformity
from trl_lint.domain.provenance import Step
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import said


class UnorderedPreprocessing(Rule[DatasetPrepared]):
    code = "TRL012"
    name = "unordered-preprocessing"
    consequences = (Consequence.WASTE,)

    def check(self, event: DatasetPrepared) -> Iterator[Violation]:
        if event.module.one_process or not (event.in_trainer or event.started or event.module.starts):
            return
        if is_test(event.function):
            return
        if event.first_rank is None:
            if _is_for_all(event.control):
                yield _everybody(event)
        elif event.first_rank.scope == "node":
            yield _each_node(event, event.first_rank)


def _is_for_all(control: Control) -> bool:
    """Whether all ranks get there or none, as far as is known: settings are the same on all of them."""
    if control.uniformity is Uniformity.DIVERGENT:
        return False
    return all(each.rank == ranks.SETTING for each in control.conditions)


def _everybody(event: DatasetPrepared) -> Violation:
    return Violation(
        event=event,
        message=(
            f"every rank runs this `{event.method}` at the same time: on several GPUs each process computes the whole "
            "data set"
        ),
        by_default=event.in_trainer,
        help=f"let one rank go first; the others then read its cache file: {said('first', event)}",
    )


def _each_node(event: DatasetPrepared, first_rank: FirstRank) -> Violation:
    return Violation(
        event=event,
        site=Site(first_rank.module or event.module, first_rank.node.item, event.function),
        message=(
            "one rank of each node goes first: on several nodes with a shared file system the whole data set is "
            "computed once per node"
        ),
        provenance=Step(event.module, event.node, "the data set is computed and cached here"),
        help="let one rank of the whole job go first: `main_process_first()`",
        metric="first rank",
        by_default=False,  # most train on one node
    )
