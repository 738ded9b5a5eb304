"""DDP waits for a layer that nothing uses.

## What it does
Reports a layer (or an `nn.Parameter`) that a module always makes and nothing uses, in a model that
`DistributedDataParallel` wraps without `find_unused_parameters=True`, that `accelerator.prepare` gets, or that
Lightning trains on several GPUs (since 2.0) with `strategy="ddp"`, or without one. A layer counts as not used, too, if
only methods read it that nothing calls, or if it only runs without gradients.

Also reports an encoder of transformers of whose output only `last_hidden_state` is read, as it makes a pooler, too; a
part of a model that is frozen after it was wrapped, if the rest is trained next; and a Trainer of Lightning (since 2.0)
that trains a module whose steps call `toggle_optimizer` for several optimizers, as those of a GAN do.

## Why is this bad?
DDP sends gradients once all parameters of a bucket have theirs. Those of an unused layer never come, and the second
step raises `RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one`. On one
process, where nothing is wrapped, the layer costs memory, and the training works.

## Example
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.body(x)

model = DistributedDataParallel(Net().to(rank))
```

## Use instead
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)

model = DistributedDataParallel(Net().to(rank))
```
Where the layer has to stay, as saved weights have it, freeze it before the model is wrapped, or wrap with
`find_unused_parameters=True`, which searches the graph of each step (for Lightning,
`strategy="ddp_find_unused_parameters_true"`).

## Fix safety
There is only a hint: saved weights, and code elsewhere, may need the layer.

## Limits
Of layers, only those that a constructor makes under no condition, or in all branches of an `if`, of classes all of
whose bases are known, and whose attribute no other code of the program reads, of any object. Of methods that nothing
calls, only those whose name no code of the program has, of classes with no other base than `nn.Module`. Of parts that
are frozen late, only those that the same function freezes and trains the rest of. Not reported: parts that only some
steps use; unused layers in programs that freeze parameters of models of their own, or make all of them a part of the
loss; models that only run without gradients; wrappers that are told of unused parameters in another way; unit tests.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
- torch/csrc/distributed/c10d/reducer.cpp `ensure_prior_reduction_finished`, read in 2.13
- https://github.com/kohya-ss/sd-scripts/pull/1041
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.gradient_events import FrozenLate, LayerUnused, StepsApart
from trl_lint.domain.engines import DEEPSPEED, SHARDS_PARAMETERS
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording.shown_code import shown_source


class UnusedParameter(Rule[FrozenLate | LayerUnused | StepsApart]):
    code = "TRL031"
    name = "unused-parameter"
    consequences = (Consequence.CRASH,)
    preview = True

    def check(self, event: FrozenLate | LayerUnused | StepsApart) -> Iterator[Violation]:
        if event.module.one_process or event.module.engines().are_likely_only(DEEPSPEED | SHARDS_PARAMETERS):
            return
        match event:
            case FrozenLate():
                yield _frozen(event)
            case StepsApart():
                yield _apart(event)
            case _:
                yield _unused(event)


def _unused(event: LayerUnused) -> Violation:
    constructor = event.constructor
    remedy = _WITHOUT_POOLER if event.is_pooler else _WITHOUT_LAYER
    return Violation(
        event=event,
        site=Site(constructor.module, event.made, constructor),
        message=(
            f"{_said_of(event)}, so its parameters get no gradient: on several GPUs "
            "DistributedDataParallel waits for these, and the second step raises RuntimeError"
        ),
        provenance=event.wrapped,
        help=f"{remedy}, or pass `find_unused_parameters=True`",
    )


def _said_of(event: LayerUnused) -> str:
    if event.is_pooler:
        return f"nothing uses what the pooler of `self.{event.name}` makes"
    if event.readers:
        readers = " and ".join(f"`{each}`" for each in sorted(event.readers))
        return f"`self.{event.name}` is only used by {readers}, which nothing calls"
    return f"`self.{event.name}` only runs without gradients" if event.runs else f"nothing uses `self.{event.name}`"


_WITHOUT_LAYER = "remove the layer, or freeze it before the model is wrapped"
_WITHOUT_POOLER = "make it with `add_pooling_layer=False`"


def _frozen(event: FrozenLate) -> Violation:
    return Violation(
        event=event,
        message=(
            f"`{shown_source(event.module, event.part)}` is frozen after the model was wrapped: on several GPUs "
            "DistributedDataParallel waits for its gradients all the same, and the second step raises RuntimeError"
        ),
        provenance=event.wrapped,
        help="freeze it before the model is wrapped, or pass `find_unused_parameters=True`",
    )


def _apart(event: StepsApart) -> Violation:
    return Violation(
        event=event,
        message=(
            f"a step of `{event.owner}` trains the parameters of one optimizer at a time: on several GPUs "
            "DistributedDataParallel waits for the gradients of all, and the next backward pass raises RuntimeError"
        ),
        provenance=event.toggled,
        help='pass `strategy="ddp_find_unused_parameters_true"`',
    )
