"""A data set is shuffled, split or sampled by each rank for itself, and then shared out over the ranks.

## What it does
Reports `shuffle` and `train_test_split` of the `datasets` library, `train_test_split` of scikit-learn,
`torch.utils.data.random_split`, `torch.randperm`, `random.shuffle`, `random.sample` and `numpy.random.permutation` and
`shuffle` without a seed, in a script that has seeded nothing before, where the ranks then take their shares of the
result: a Trainer trains or evaluates on it, a loader of it goes through `Accelerator.prepare`, a `DistributedSampler`
samples it. A seed that differs between ranks (`seed + rank`, `device_specific=True`) is none, nor is that of a
`DistributedSampler`. What the `__init__` of a data set of the project's own draws counts where its `__len__` is that of
what was drawn.

## Why is this bad?
Each process has random generators of its own, and without a seed each starts somewhere else. Rank 0 trains on the even
places of one order and rank 1 on the odd places of another: some rows are seen twice, others never. After a split, what
one rank evaluates on is what the other one has trained on, and the evaluation looks better than it is. Nothing fails,
and on one process all is well.

## Example
```python
split = dataset.train_test_split(test_size=0.1)
trainer = SFTTrainer(model, args=training_args, train_dataset=split["train"], eval_dataset=split["test"])
```

## Use instead
```python
split = dataset.train_test_split(test_size=0.1, seed=training_args.seed)
trainer = SFTTrainer(model, args=training_args, train_dataset=split["train"], eval_dataset=split["test"])
```

## Fix safety
The call is given a seed: that of the arguments the trainer is made with, a variable called `seed`, or the constant that
another call of the same function is given. It is unsafe, as it decides which rows come when on one process, too. Where
no such seed is in reach, or the draw is in another file, there is a hint.

## Limits
A Trainer seeds all generators when it is made, so what is drawn behind that is right; a split is before it. Silent,
too: scripts that call `set_seed`, or whatever may seed the generator in question, before the draw; that ask for the
seed in a condition around the draw; models loaded with `device_map="auto"`, which one process trains; draws of only
some ranks; results whose cache files are named; data sets that stream. Code of which no script is in sight that runs
it, such as the methods of a Trainer, is silent: its caller may have seeded. `main_process_first()` does not help:
without a seed the result has another fingerprint on each rank, and nobody reads what another one has cached. Of rows
that were drawn by other means, such as `numpy.random.default_rng().choice`, nothing is said.

## References
- https://github.com/huggingface/accelerate/issues/2393, https://github.com/QwenLM/Qwen3-VL/pull/1971 and
  https://github.com/TensorAuto/OpenTau/pull/498
- https://huggingface.co/docs/datasets/process#shuffle: "shuffle with a seed"; `Dataset.train_test_split` and `shuffle`
  (arrow_dataset.py) take the state of numpy's global generator where they are given no seed
- https://pytorch.org/docs/stable/notes/randomness.html
- `Trainer.__init__` (transformers/trainer.py) calls `set_seed(self.args.seed)`, after the data sets have been made
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import DatasetDrawn
from trl_lint.findings import Consequence
from trl_lint.knowledge.random_draws import ORDER
from trl_lint.rules.base import Rule, Site, Violation


class UnseededSplit(Rule[DatasetDrawn]):
    code = "TRL015"
    name = "unseeded-split"
    consequences = (Consequence.WRONG_TRAINING,)

    def check(self, event: DatasetDrawn) -> Iterator[Violation]:
        if event.module.one_process:
            return
        yield Violation(
            event=event,
            site=Site(event.module, event.node, event.drawer),
            message=_message(event),
            provenance=event.handed,
            help=f"draw alike on all ranks: {_advice(event)}, or call `set_seed` before it",
        )


def _message(event: DatasetDrawn) -> str:
    seeded = "with a seed of each rank's own" if event.is_apart else "without a seed"
    what = "the order" if event.name == ORDER else f"`{event.name}`"
    own = f"{seeded} {what} comes out differently on each rank, which takes its share of that"
    is_split = event.name in ("random_split", "train_test_split")
    lost = "rows are trained on twice, never, or evaluated on as well" if is_split else "rows are seen twice or never"
    return f"{own}: on several GPUs {lost}"


def _advice(event: DatasetDrawn) -> str:
    how = event.how
    if how.keyword:
        return f"`{how.keyword.format(seed=42, torch='torch')}`"
    return f"`{how.receiver.format(module=_module_of(event), seed=42)}.{event.name}(…)`"


def _module_of(event: DatasetDrawn) -> str:
    owner = getattr(getattr(event.node, "func", None), "value", None)
    if not event.is_here or owner is None or isinstance(owner, str):
        return event.how.module
    return event.module.tree.code_for_node(owner)
