"""Each rank shuffles or splits a data set differently, and takes its share.

## What it does
Reports random draws without a seed, in a script that has not seeded anything before, if the ranks then take shares of
the result: a Trainer trains or evaluates on it, a loader of it goes through `Accelerator.prepare` or to `fit` of
Lightning's trainer with several processes (from a data module, too), a `DistributedSampler` samples
it, or each rank takes a part of it: every n-th row (`files[rank::world_size]`, also in a loop over
`range(rank, len(files), world_size)` or in its turns, `i % world_size == rank`), a block of `len(files) // world_size`
rows, one of `world_size` pieces (`order.chunk(world_size)[rank]`, `numpy.array_split`), a shard by its number (`shard`,
`split_dataset_by_node`), or what `split_between_processes` of Accelerate gives it. The draws are `shuffle` and
`train_test_split` of `datasets`, scikit-learn's `train_test_split` and `split` of its classes for cross-validation
(`KFold(5, shuffle=True)`), `torch.utils.data.random_split`, `torch.randperm`, `random.shuffle`, `random.sample`,
`numpy.random.permutation`, `shuffle` and `choice` of several, `sample(frac=0.8)` of pandas, a mask of drawn numbers
(`table[numpy.random.rand(n) < 0.8]`, `[row for row in rows if random.random() < 0.8]`), and what a generator of its own
draws that gets no seed (`numpy.random.default_rng().permutation(n)`, and `choice`, `permuted` and `shuffle`;
`random.Random()`): what the program has seeded before does not reach it. A seed that differs between ranks
(`seed + rank`, `device_specific=True`) counts as none, also as the seed of a `DistributedSampler` or of a generator
that shuffles (`Random(seed + rank).shuffle(files)`), and in Lightning's `seed_everything` before a `fit` with loaders
that shuffle: the samplers that Lightning makes for them take that seed. Draws of the rows of a data set count: of the
attribute that the `__len__` of the project's own measures, in its `__init__` or by its name
(`random.shuffle(data.rows)`), and of `samples` of torchvision's `ImageFolder`. So does what processes draw that
`mp.spawn` starts: what the program has seeded before does not reach them. What is picked at drawn places
(`[rows[i] for i in order]`), made of each drawn thing, or kept because it is among some of them
(`if name not in held_out`) is drawn, too, and so are tensors and arrays of drawn rows
(`TensorDataset(torch.from_numpy(train))`) and a split that is put into a `DatasetDict`
(`data["train"] = split["train"]`).

## Why is this bad?
Each process has its own random generators, and without a seed each starts somewhere else. Rank 0 trains on the even
positions of one order and rank 1 on the odd positions of another: some rows are seen twice, others never. After a
split, one rank evaluates on what another has trained on, and the evaluation looks better than it is. Nothing fails,
and on one process everything is fine.

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
The call gets a seed: that of the trainer's arguments, a variable called `seed`, or the constant that another call in
the same function uses. This is *unsafe*, because it changes the order of the rows on one process as well. It is a
*hint* if no such seed is available, or if the draw is in another file.

## Limits
A Trainer seeds all generators when it is created, so draws after that are correct; a split comes before. Not reported:
scripts that call `set_seed`, or anything that may seed the generator, before the draw; draws under a condition on the
seed; models loaded with `device_map="auto"`, which one process trains; draws on some ranks only; draws in the cells of
a notebook that starts processes, which are copies of its kernel; results with a named cache file; streaming data sets.
Code without a script that runs it, such as a Trainer's methods, is not reported, because its caller may have seeded.
Not seen: rows drawn in other ways, such as in a loop that appends some of them, and what is drawn from a generator that
is kept in an attribute or passed to a function.

`main_process_first()` does not help: without a seed the result has a different fingerprint on each rank, so no rank
reads what another has cached.

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
from trl_lint.knowledge.random_draws import INJECTED, ORDER
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import said

_ALIKE = (
    "seed all ranks alike (`seed_everything(seed, workers=True)` still seeds the workers of each rank in their own "
    "way), or seed the other generators of a rank by themselves"
)


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
            provenance=event.use,
            help=_ALIKE if event.name == INJECTED else f"draw the same on all ranks: {_advice(event)}",
        )


def _message(event: DatasetDrawn) -> str:
    seeded = "with a different seed on each rank" if event.is_apart else "without a seed"
    where = "" if event.is_here else f" in {event.draw.module.path.name}"
    what = "this sampler shuffles" if event.name == ORDER else f"`{event.name}`{where} runs"
    if event.name == INJECTED:
        what = "Lightning's sampler shuffles"
    is_split = event.name in ("random_split", "train_test_split")
    lost = (
        "some rows are trained on twice, some never, and some are also evaluated on"
        if is_split
        else "some rows are seen twice, others never"
    )
    return (
        f"{what} {seeded}, so that each rank gets a different result, and takes its share of that: on several GPUs "
        f"{lost}"
    )


def _advice(event: DatasetDrawn) -> str:
    """What to pass a seed to; a generator of its own does not know what the program has seeded."""
    row = event.row
    if row.keyword:
        own = f"`{row.keyword.format(seed=42, torch='torch')}`"
    elif row.receiver:
        own = f"`{row.receiver.format(module=_module_of(event), seed=42)}.{event.name}(…)`"
    else:
        return f"{said('seed', event)} before it"
    is_separate = bool(row.receiver) and not row.generator
    return own if is_separate else f"{own}, or {said('seed', event)} before it"


def _module_of(event: DatasetDrawn) -> str:
    owner = getattr(getattr(event.node, "func", None), "value", None)
    if not event.is_here or owner is None or isinstance(owner, str):
        return event.row.module
    return event.module.tree.code_for_node(owner)
