"""Every epoch has the same order, as nothing calls `set_epoch`.

## What it does
Reports a loop over epochs that trains on a `DataLoader` whose sampler is a `DistributedSampler` that shuffles (which it
does by default), in a program that calls `set_epoch` nowhere. The loop over the batches may be in a function that the
loop over epochs calls, or in a generator: `while True: yield from loader`. So is one with a sampler of the project that
deals rows to the ranks and has a method `set_epoch`, if it seeds with its `epoch` and changes that nowhere else. One
that gives on the indices of such a sampler (`for index in self.sampler`) counts as that one. A loader that timm's
`create_loader(…, is_training=True, distributed=True)` makes has a `DistributedSampler`.

Also reported are loops that make such a sampler anew in each epoch, of the same rows: it starts with epoch 0 again.

Also reported is where a loop over steps starts such a loader over: `batches = iter(loader)` after `StopIteration`,
after `next(batches, None)` has given nothing, or after `len(loader)` steps. `next(iter(loader))` gets the same batch
each time.

## Why is this bad?
A `DistributedSampler` shuffles with a generator of its own, which it seeds with `seed + epoch`, so that all ranks draw
the same order. It does not count the epochs: without `set_epoch`, each of them is epoch 0. The model sees the rows in
the same order in each epoch, and in the same batches. On one process, the usual `shuffle=True` or `RandomSampler` draws
another order each time, so that a run on several GPUs trains worse than one on a single GPU. Nothing fails.

## Example
```python
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
for epoch in range(epochs):
    for batch in loader:
        train_step(model, batch)
```

## Use instead
```python
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
for epoch in range(epochs):
    sampler.set_epoch(epoch)
    for batch in loader:
        train_step(model, batch)
```

## Fix safety
The call is added as the first statement of the loop over epochs. This is *unsafe*, because it changes the order of the
rows. It is a *hint* if the loop has no variable for the epoch, or if no name there is certain to be the sampler: with
`sampler = DistributedSampler(data) if distributed else None`, the call needs the same condition.

## Limits
Not reported: samplers with `shuffle=False`, or where that is not a constant; other samplers of the project's own
classes; loops that compute no gradients, or only if a flag from elsewhere says so, or in a file without a call of
`step`; loops over `range(1)`; samplers that are made anew in each epoch with a seed, or of rows that the loop makes,
changes, or uses for anything but loaders and their number (`len(rows)`); epochs before which a method of the data set
may mix its rows (`loader.dataset.reset()`); programs of one process; loaders from `Accelerator.prepare` or Fabric's
`setup_dataloaders`, which count the epochs themselves, and loaders that only a Trainer loops over.
`set_epoch` anywhere in the file, in one that it imports, in one that imports it, or in one that such a file imports is
taken to be for this sampler, unless it is in the definition of such a method, which tells nothing until called, or in
another program, which nothing imports, and which does not import the loop. What is imported from a package is looked
for where its `__init__` has it from.
If the calls of a helper that makes loaders pass it samplers, the first one that shuffles is taken for that of the
loader on which a model is trained, unless one of them is neither of this kind nor a `SequentialSampler`.
Not in the default set: loops over as many epochs as an option says, if all known launches train for one.
Of batches that code asks for (`next(batches)`), only those count from which something is computed that computes
gradients. Not reported: `itertools.cycle`, which repeats the first epoch on one process, too; iterators that one method
makes and another asks, unless the latter makes them anew; conditions that do not show the end of an epoch
(`if batches is None`).

## References
- https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler: "calling the `set_epoch()`
  method at the beginning of each epoch before creating the DataLoader iterator is necessary to make shuffling work
  properly across multiple epochs. Otherwise, the same ordering will be always used."
- `DataLoaderShard.__iter__` (accelerate/data_loader.py) and `_FabricDataLoader.__iter__` (lightning/fabric/wrappers.py)
  set the epoch of the sampler, as do the loops of transformers' `Trainer` and Lightning's
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.analysis.data_events import EpochsAlike
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

# The default of an option on the command line.
_DEFAULT = rb"[\"']--%b[\"'](?:[^()]|\([^()]*\))*?\bdefault\s*=\s*([\w.]+)"
_ONE = frozenset({"1", "1.0"})


class MissingSetEpoch(Rule[EpochsAlike]):
    code = "TRL019"
    name = "missing-set-epoch"
    consequences = (Consequence.WRONG_TRAINING,)

    def check(self, event: EpochsAlike) -> Iterator[Violation]:
        if event.module.one_process:
            return
        yield Violation(
            event=event,
            message=(
                f"no `set_epoch` tells the `{_name(event)}` that another epoch begins: on several GPUs each epoch "
                "has the same order of the rows, and the same batches"
            ),
            provenance=event.sampler,
            help=_help(event),
            by_default=False if _is_one_epoch(event) else None,
            cause=id(event.sampler.node),
        )


def _name(event: EpochsAlike) -> str:
    """The name of the class of the sampler; that of torch if a function makes it."""
    from libcst import Call

    from trl_lint.analysis.program.syntax import last_name

    made = event.sampler.node
    name = last_name(made.func) if isinstance(made, Call) else ""
    return name if name[:1].isupper() else "DistributedSampler"


def _help(event: EpochsAlike) -> str:
    call = f"`{event.setter or 'sampler'}.set_epoch(epoch)`"
    if event.again:
        return f"count the epochs, and call {call} before this"
    if event.remade:
        return f"make the sampler once, before the loop, and call {call} at the start of each epoch"
    return f"call {call} at the start of each epoch"


def _is_one_epoch(event: EpochsAlike) -> bool:
    """Whether the number of epochs is an option of which all known launches leave, or set, the value one."""
    from libcst import Attribute, For

    from trl_lint.analysis.program.syntax import below

    loop, given = event.loop, event.module.engines().given_options
    if not given.launches or not isinstance(loop, For):
        return False
    options = {each.attr.value for each in below(loop.iter) if isinstance(each, Attribute)}
    return len(options) == 1 and all(given.are_always(each, _ONE, _default_of(each, event.module)) for each in options)


def _default_of(option: str, module: Module) -> str:
    found = re.search(_DEFAULT % option.encode(), module.source or b"")
    return found[1].decode("utf-8", "replace") if found is not None else ""
