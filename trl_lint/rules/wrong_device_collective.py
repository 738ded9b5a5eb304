"""A tensor on the CPU, or on one fixed device, enters a collective.

## What it does
Reports a tensor that is certain to be on the CPU (`torch.tensor(…)`, `torch.zeros(…)` and the like without `device=`,
`.cpu()`), or on one fixed device (`cuda:0`), and

- is handed to a collective of tensors: `gather`, `gather_for_metrics`, `reduce`, `pad_across_processes`,
  `Trainer._nested_gather`, `dist.all_reduce`, …;
- or is returned by `prediction_step`, whose results `Trainer.evaluation_loop` gathers as they are.

And the rank in the whole job (`process_index`, `dist.get_rank()`, `$RANK`) where a device's index belongs, or in the
text of a device (`cuda:3`) that a function returns.

## Why is this bad?
Each process has one GPU, and nccl moves tensors that are on it. None of these collectives moves a tensor there first.
With a tensor on the CPU, nccl says `No backend type associated with device type cpu`; with one on `cuda:0` the other
processes fail or wait for ever. On one process, or with gloo on a machine without GPUs, the same code passes. The rank
in the whole job is the index of a device on the first node only: process 8 of two nodes with 8 GPUs each looks for
`cuda:8`.

## Example
```python
tokens = accelerator.gather_for_metrics(torch.tensor(inputs["position_ids"].size(1))).sum().item()
```

## Use instead
```python
length = inputs["position_ids"].size(1)
tokens = accelerator.reduce(torch.tensor(length, device=accelerator.device), reduction="sum").item()
```
and `accelerator.local_process_index` for a device's index.

## Fix safety
A tensor that is made in the call itself is made on the accelerator's device; one that is moved to the CPU in the call
is moved there after it; any other is moved to the accelerator's device in the call. That is safe where every rank
is known to get there together, and unsafe where that is not known. What a collective fills in place, and what
is used as an array right after, is left to the author. `process_index` and `$RANK` become `local_process_index` and
`$LOCAL_RANK` by hand.

## Limits
A test of pytest, a file that names this machine as the address of the first process, and a program all of whose
launches in the project say so (`--nnodes=1`, `--standalone`), are run on one node.
The rank in the whole job as the index of a device is not in the default set, as it goes wrong on a second node only;
`--extend-select TRL011` reports it, all places of one rank in one finding.

A tensor of which it is not known where it is, is not reported. Right, and silent: object collectives
(`gather_object`, `broadcast_object_list`), `*_like` and `new_*` of a tensor on the device, process groups that were
not made for nccl, `cuda:0` where the function that starts the group makes it the device of every process (each is shown
one GPU of its own), programs that ask for gloo or for the CPU or leave the backend open, those that change the default
device, collectives of torch.distributed where neither nccl nor a library that chooses it is started or imported, in
their file or by a program that calls it, and unit tests, which are one process.

## References
- https://github.com/huggingface/trl/pull/3245, https://github.com/huggingface/trl/pull/513 and
  https://github.com/huggingface/trl/pull/515
- https://docs.pytorch.org/docs/stable/distributed.html#backends
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trl_lint.analysis.events import CollectiveCalled, DeviceChosen, StepReturned
from trl_lint.analysis.observers.backends import is_on_one_node, sees_own_gpu, takes_gpu_only
from trl_lint.analysis.program.definitions.unit_tests import is_one_process
from trl_lint.analysis.transfer.tensors.tensor_devices import is_known
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind, Value
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import said

# What may be a tensor; a place is only known of what is one.
_TENSORS = frozenset({Kind.BATCH, Kind.TENSOR, Kind.UNKNOWN})


class WrongDeviceCollective(Rule[CollectiveCalled | StepReturned | DeviceChosen]):
    code = "TRL011"
    name = "wrong-device-collective"
    consequences = (Consequence.CRASH,)

    def check(self, event: CollectiveCalled | StepReturned | DeviceChosen) -> Iterator[Violation]:
        if isinstance(event, CollectiveCalled):
            yield from _communicated(event)
        elif isinstance(event, StepReturned):
            yield from _returned(event)
        elif not is_on_one_node(event.module) and not event.module.engines().one_node:
            yield _chosen(event)


def _communicated(event: CollectiveCalled) -> Iterator[Violation]:
    wrong = _wrong(event)
    by_torch = event.row.name.startswith("torch.")
    if wrong is None or is_one_process(event.owner):
        return
    if wrong.device != "cpu" and sees_own_gpu(event.module):
        return
    if not takes_gpu_only(event.module, event.groups, by_torch=by_torch, on_gpus=event.on_gpus):
        return
    own_name = event.row.name.rpartition(".")[2]
    yield Violation(
        event=event,
        message=f"`{own_name}` gets a tensor on {_where(wrong)}: {_FAILS[wrong.device == 'cpu']}",
        provenance=_why(wrong),
        help=f"make it {said('device', event)}, or move it there, before the collective",
    )


_FAILS = {
    True: "nccl takes tensors on each process's own GPU only, so it fails on several GPUs and works on one process",
    False: "each process has another GPU of its own, so it fails or hangs on several GPUs and works on one",
}


def _wrong(event: CollectiveCalled) -> Value | None:
    """The tensor that is not where the collective needs it."""
    is_container = event.parts != (event.operand,)
    if is_container and event.row.lists and any(part.kind not in (Kind.BATCH, Kind.TENSOR) for part in event.parts):
        return None  # communicated as Python objects
    return next(filter(_is_wrong, (*event.parts, *event.received)), None)


def _is_wrong(value: Value) -> bool:
    return value.kind in _TENSORS and is_known(value)


def _where(value: Value) -> str:
    return "the CPU" if value.device == "cpu" else f"`{value.device}`"


def _why(value: Value) -> Step | None:
    return getattr(value.device, "why", None) or value.why


def _returned(event: StepReturned) -> Iterator[Violation]:
    why = getattr(event.value.device, "why", None)
    if why is None or not _is_wrong(event.value) or not takes_gpu_only(why.module):
        return
    it = "it" if event.what == "loss" else "them"
    yield Violation(
        event=event,
        site=Site(why.module, why.node, event.owner),
        message=(
            f"`prediction_step` returns the {event.what} on {_where(event.value)}, and the evaluation loop gathers "
            f"{it}: {_FAILS[event.value.device == 'cpu']}"
        ),
        provenance=Step(event.module, event.node.name, "what this returns is gathered by the evaluation loop"),
        help=f"make it {said('device', event)}, or move it there, before it is returned",
        metric=event.what,
    )


def _chosen(event: DeviceChosen) -> Violation:
    site = Site(event.module, event.node, event.owner)
    why = event.why
    if why is not None and not _is_inside(why.node, event) and not _tells_more(why):
        # Another function says which device it is. One that gives the rank beside other numbers says which is which.
        site = Site(why.module, why.node, event.owner)
    return Violation(
        event=event,
        site=site,
        message=(
            "the global rank is used as the index of a GPU: on a second node it is greater than that of any GPU there "
            "(rank 8 asks for `cuda:8`)"
        ),
        provenance=Step(event.module, event.node, "the device is chosen here") if site.node is not event.node else why,
        help=f"use the index on this node: {said('local rank', event)}",
        by_default=False,  # most train on one node
        cause=id(event.node if why is None else why.node),
    )


def _is_inside(node: Any, event: DeviceChosen) -> bool:
    """Whether a statement belongs to the function in which a device is chosen."""
    from trl_lint.analysis.program.syntax import ancestors

    function = event.owner.node if event.owner is not None else event.module.tree
    return node is function or bool(ancestors(function, node))


def _tells_more(why: Step) -> bool:
    """Whether the function around a step gives back several things at once."""
    from trl_lint.analysis.program.syntax import returns_several

    return returns_several(why.module.tree, why.node)
