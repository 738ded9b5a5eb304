"""A loader shuffles beside the sampler of the ranks.

## What it does
Reports `DataLoader(…, sampler=sampler, shuffle=True)` where the sampler is a `DistributedSampler` (torch's own, or a
class that inherits from it), at least where there are several processes.

## Why is this bad?
`DataLoader` raises `ValueError: sampler option is mutually exclusive with shuffle`. Programs make the sampler for
several processes only, and leave it None for one: there the loader shuffles, and all is well. On several GPUs the
program ends at once.

## Example
```python
sampler = DistributedSampler(dataset) if distributed else None
loader = DataLoader(dataset, batch_size=8, sampler=sampler, shuffle=True)
```

## Use instead
```python
sampler = DistributedSampler(dataset) if distributed else None
loader = DataLoader(dataset, batch_size=8, sampler=sampler, shuffle=sampler is None)
```

## Fix safety
The loader shuffles only where there is no sampler. That is *safe*: one process does what it did. A `DistributedSampler`
shuffles by itself, unless it is told not to, and needs `set_epoch` (TRL019). Where the sampler has no name here, or
`True` is not written in the call, there is only a *hint*.

## Limits
Not reported: samplers of other classes, with which one process raises, too; `shuffle` that is not known to be true
where there is a sampler; loaders of other libraries.

## References
- https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
- torch/utils/data/dataloader.py `DataLoader.__init__`, read in 2.13
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.data_events import ShuffledBesideSampler
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source


class SamplerWithShuffle(Rule[ShuffledBesideSampler]):
    code = "TRL030"
    name = "sampler-with-shuffle"
    consequences = (Consequence.CRASH,)
    preview = True

    def check(self, event: ShuffledBesideSampler) -> Iterator[Violation]:
        if event.module.one_process:
            return
        sampler = shown_source(event.module, event.sampler)
        yield Violation(
            event=event,
            message=(
                f"the loader is told to shuffle beside `{sampler}`, which deals the rows to the ranks: "
                "on several GPUs it raises ValueError"
            ),
            help="let it shuffle only where there is no sampler: a `DistributedSampler` shuffles by itself",
        )
