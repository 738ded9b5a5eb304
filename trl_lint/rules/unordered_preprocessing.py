"""Every rank computes and caches the same data set at the same time.

## What it does
Reports `map` and `filter` of a data set (of the `datasets` library) in code that every rank runs, such as the
`__init__` of a Trainer or a script that starts one, where no rank is let in first. And the
`local_main_process_first()` around them, under which one rank of *each node* has it.

## Why is this bad?
`map` writes its result to a cache file, and whoever computes the same again reads that. Without an order all ranks
find no file, tokenise the whole data set, eight times on eight GPUs, and write the same file. With
`local_main_process_first()` one rank of each node does so, at the same time, and on a file system that the nodes share
they write the same file.

## Example
```python
train_dataset = train_dataset.map(tokenize)
```

## Use instead
```python
with PartialState().main_process_first():
    train_dataset = train_dataset.map(tokenize)
```
The main process computes, the others wait and then read its file.

## Fix safety
The statement is put into the `with` block, whose barriers every rank has to reach: only what every rank is known to
get to is reported, and on one process it does nothing. It is unsafe, as the other ranks wait in a barrier as long as
the main process computes: where that takes longer than the collective time-out (10 minutes with nccl, 30 with gloo,
unless `timeout=` of `init_process_group`, `InitProcessGroupKwargs` or `ddp_timeout` says otherwise), the run fails.
Give it more time, or compute the data set once before the training is launched. In a loop, where the call is a
part of a larger statement, and in a script for a release of Transformers without Accelerate, there is a hint.
To let one rank of the job go first instead of one of each node is unsafe, too: nodes that share no file system then
compute on all of their ranks. Where the comment above says that each node is meant to, there is a hint.

## Limits
Only what a trainer's own class prepares on all ranks at once is in the default set; `--extend-select TRL012` reports
scripts as well, and one rank of each node that goes first, which only several nodes notice.

Right, and silent: streaming data sets, those made in memory (`Dataset.from_dict`), which have no file to share,
`keep_in_memory=True` and `load_from_cache_file=False`, all of it where a linted file calls
`datasets.disable_caching()`, shards of a rank's own, work that only some ranks get to, and
blocks of context managers whose code is not in sight. So is the idiom of the documentation of `datasets`: some ranks
wait in a barrier before the call, and the others come to one behind it, when they have computed. A model that is
loaded with `device_map="auto"` is trained by one process, and a test of pytest or unittest is run by one. After a
shuffle without a seed, or a split, nobody can read what another rank has computed, in whatever order they come; nor
where the function reads what holds the rank (a `TrainingArguments`, arguments with `--local_rank`), as its hash names
the file.
`TrainingArguments.main_process_first()` is taken to be right, whatever its `local` says.

## References
- https://github.com/huggingface/trl/pull/1291 and https://github.com/huggingface/trl/pull/3106
- https://huggingface.co/docs/accelerate/package_reference/state#accelerate.PartialState.main_process_first
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import DatasetPrepared
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
        if is_test(event.owner):
            return
        if event.first_rank is None:
            if _is_for_all(event.control):
                yield _everybody(event)
        elif event.first_rank.scope == "node":
            yield _each_node(event, event.first_rank)


def _is_for_all(control: Control) -> bool:
    """Whether all ranks get there or none, for all that is known: settings are the same on all of them."""
    if control.uniformity is Uniformity.DIVERGENT:
        return False
    return all(each.rank == ranks.SETTING for each in control.conditions)


def _everybody(event: DatasetPrepared) -> Violation:
    return Violation(
        event=event,
        message=(
            f"every rank runs this `{event.method}` at the same time: on several GPUs the whole data set is computed "
            "once per process"
        ),
        by_default=event.in_trainer,
        help=f"let one rank go first, so that the others read its file: {said('first', event)}",
    )


def _each_node(event: DatasetPrepared, first_rank: FirstRank) -> Violation:
    return Violation(
        event=event,
        site=Site(first_rank.module or event.module, first_rank.node.item, event.owner),
        message=(
            "one rank of each node goes first: on several nodes with a shared file system the whole data set is "
            "computed once per node"
        ),
        provenance=Step(event.module, event.node, "the data set is computed and cached here"),
        help="let one rank of the whole job go first: `main_process_first()`",
        metric="first rank",
        by_default=False,  # most train on one node
    )
