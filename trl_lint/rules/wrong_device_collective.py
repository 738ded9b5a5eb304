"""A tensor on the CPU or a fixed device is passed to a collective.

## What it does
Reports a tensor that is certain to be on the CPU (`torch.tensor(…)`, `torch.zeros(…)` and the like without `device=`,
`.cpu()`), or on one fixed device (`cuda:0`), and

- is passed to a tensor collective: `gather`, `gather_for_metrics`, `reduce`, `pad_across_processes`,
  `Trainer._nested_gather`, `dist.all_reduce`, …;
- or is returned by `prediction_step`, whose results `Trainer.evaluation_loop` gathers unchanged.

It also reports the global rank (`process_index`, `dist.get_rank()`, `$RANK`, or one of these modulo the number of all
processes; `node * gpus + gpu` once it is passed to `init_process_group` as `rank`) used as a device index, in the text
of a device (`cuda:3`) that a function returns, or for `map_location`.

And it reports a model that `DistributedDataParallel` or FSDP gets on a GPU that is the same for all processes: one that
is moved by `.cuda()`, or to `cuda` or `cuda:0`, in a program that never calls `torch.cuda.set_device`; or to `cuda:0`
in one that calls it for each process's own GPU.

## Why is this bad?
Each process has its own GPU, and nccl only moves tensors on it. These collectives do not move a tensor there first.
With a tensor on the CPU, nccl reports `No backend type associated with device type cpu`; with one on `cuda:0`, the
other processes fail or wait forever. On one process, or with gloo on a machine without GPUs, the same code works. Where
all processes have a model on the first GPU, NCCL fails (`Duplicate GPU detected`), or that GPU runs out of memory. The
global rank is a valid device index on the first node only: process 8 of two nodes with 8 GPUs each asks for `cuda:8`.

## Example
```python
tokens = accelerator.gather_for_metrics(torch.tensor(inputs["position_ids"].size(1))).sum().item()
```

## Use instead
```python
length = inputs["position_ids"].size(1)
tokens = accelerator.reduce(torch.tensor(length, device=accelerator.device), reduction="sum").item()
```
and `accelerator.local_process_index` as a device index.

## Fix safety
A tensor created in the call is created on the accelerator's device. A move to the CPU in the call is done afterwards
instead. Any other tensor is moved to the accelerator's device in the call. This is *safe* if every rank is known to
get there together, *unsafe* if that is not known. In-place collectives, and results converted to an array right away,
are left to you. So is replacing `process_index` and `$RANK` with `local_process_index` and `$LOCAL_RANK`.

## Limits
The global rank as a device index is not in the default set, because it only fails on a second node;
`--extend-select TRL011` reports it, with all uses of one rank in one finding. It is not reported in code that runs on
one node: pytest tests, files that name this machine as the master address, programs that start their processes with
such a file and in no other way, and programs that are only launched on one node (`--nnodes=1`, `--standalone`), unless
the function asks the launcher for the local rank (`LOCAL_RANK`) as well, or the rank is taken modulo the number of all
processes, in place of those on its node.

A model on the first GPU is not reported if a file of the program, or one that it imports, names what may give each
process a GPU of its own: `set_device`, `CUDA_VISIBLE_DEVICES`, SLURM's variables, Accelerate, DeepSpeed, Lightning, Ray
and the like; but on `cuda:0` it is, where `set_device` is passed a rank or a GPU's number. It is in the default set in
that case, if the code names a local rank or starts processes, or if a launch shows several on one machine: otherwise,
each machine may have one.

A tensor on an unknown device is not reported. These are correct and not reported: object collectives (`gather_object`,
`broadcast_object_list`), `*_like` and `new_*` of a tensor on the device, process groups that are not made for nccl,
`cuda:0` where the function that starts the group makes it every process's device (each sees one GPU), or where only
some ranks get, programs that choose gloo or the CPU, leave the backend open on GPUs or change the default device,
torch.distributed collectives where neither nccl nor a library that chooses it is used (in the file, or by a program or
a Trainer's subclass that calls it), tensors from another file that starts gloo for itself, or from a file of tests, and
unit tests, which run as one process.

## References
- https://github.com/huggingface/trl/pull/3245, https://github.com/huggingface/trl/pull/513 and
  https://github.com/huggingface/trl/pull/515
- https://docs.pytorch.org/docs/stable/distributed.html#backends
- https://github.com/pytorch/pytorch/pull/68666 and https://github.com/Peterande/D-FINE/issues/289 (`Duplicate GPU
  detected`)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from trl_lint.analysis.device_events import WrappedOnSharedGpu
from trl_lint.analysis.events import CollectiveCalled, DeviceChosen, StepReturned
from trl_lint.analysis.observers.backends import (
    is_on_one_node,
    sees_own_gpu,
    stays_on_cpu,
    takes_gpu_only,
    tells_nodes_apart,
)
from trl_lint.analysis.program.definitions.unit_tests import is_one_process, is_test_file
from trl_lint.analysis.transfer.tensors.tensor_devices import is_known
from trl_lint.domain.control import Uniformity
from trl_lint.domain.provenance import NamedByRank, RemainderOfRank, Step, steps
from trl_lint.domain.values import Kind, Value
from trl_lint.findings import Consequence
from trl_lint.knowledge.backends import COUNTS_LOCAL_RANKS
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import said
from trl_lint.wording.shown_code import shown_source

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module

# Kinds that may be a tensor; a device is only known of tensors.
_TENSORS = frozenset({Kind.BATCH, Kind.TENSOR, Kind.UNKNOWN})


class WrongDeviceCollective(Rule[CollectiveCalled | StepReturned | DeviceChosen | WrappedOnSharedGpu]):
    code = "TRL011"
    name = "wrong-device-collective"
    consequences = (Consequence.CRASH,)

    def check(self, event: CollectiveCalled | StepReturned | DeviceChosen | WrappedOnSharedGpu) -> Iterator[Violation]:
        if isinstance(event, CollectiveCalled):
            yield from _communicated(event) if event.row.fails else ()  # else it moves them there itself
        elif isinstance(event, StepReturned):
            yield from _returned(event)
        elif isinstance(event, WrappedOnSharedGpu):
            yield from _shared(event)
        elif not _is_on_one_node(event):
            yield _chosen(event)


def _communicated(event: CollectiveCalled) -> Iterator[Violation]:
    wrong = _wrong(event)
    by_torch = event.row.name.startswith("torch.")
    if wrong is None or is_one_process(event.function):
        return
    # The ranks that get here may be the one that has this GPU: `if dist.get_rank() == 0: …` has `cuda:0`.
    if wrong.device != "cpu" and (sees_own_gpu(event.module) or event.control.uniformity is Uniformity.DIVERGENT):
        return
    if not takes_gpu_only(event.module, event.groups, by_torch=by_torch, on_gpus=event.on_gpus):
        return
    own_name = event.row.name.rpartition(".")[2]
    yield Violation(
        event=event,
        message=f"`{own_name}` gets a tensor on {_where(wrong)}: {_FAILS[wrong.device == 'cpu']}",
        provenance=_why(wrong),
        help=f"create it {said('device', event)}, or move it there before the collective",
    )


_FAILS = {
    True: "nccl takes only tensors on the process's own GPU, so this fails on several GPUs and works on one process",
    False: "each process has its own GPU, so this fails or hangs on several GPUs and works on one",
}


def _wrong(event: CollectiveCalled) -> Value | None:
    """The tensor that is on another device than the collective needs."""
    is_container = event.parts != (event.operand,)
    if is_container and event.row.lists and any(part.kind not in (Kind.BATCH, Kind.TENSOR) for part in event.parts):
        return None  # communicated as Python objects
    given = (*event.parts, *event.received)
    return next((each for each in given if _is_wrong(each) and not _is_of_another_group(event, each)), None)


def _is_of_another_group(event: CollectiveCalled, value: Value) -> bool:
    """Whether a tensor comes from another file, whose group takes tensors on the CPU, or whose tests call the code.

    A program that starts gloo says nothing about the one that starts nccl, and neither does a unit test.
    """
    chain = (cast("Module", each.module) for each in steps(_why(value)))
    others = {id(module): module for module in chain if module is not event.module}
    is_tested = not is_test_file(event.module.path)
    return any(stays_on_cpu(each) or (is_tested and is_test_file(each.path)) for each in others.values())


def _is_wrong(value: Value) -> bool:
    return value.kind in _TENSORS and is_known(value)


def _where(value: Value) -> str:
    return "the CPU" if value.device == "cpu" else f"`{value.device}`"


def _why(value: Value) -> Step | None:
    return getattr(value.device, "provenance", None) or value.provenance


def _returned(event: StepReturned) -> Iterator[Violation]:
    provenance = getattr(event.value.device, "provenance", None)
    if provenance is None or not _is_wrong(event.value) or not takes_gpu_only(provenance.module):
        return
    it = "it" if event.what == "loss" else "them"
    yield Violation(
        event=event,
        site=Site(provenance.module, provenance.node, event.function),
        message=(
            f"`prediction_step` returns the {event.what} on {_where(event.value)}, and the evaluation loop gathers "
            f"{it}: {_FAILS[event.value.device == 'cpu']}"
        ),
        provenance=Step(event.module, event.node.name, "what this returns is gathered by the evaluation loop"),
        help=f"create it {said('device', event)}, or move it there before it is returned",
        metric=event.what,
    )


def _shared(event: WrappedOnSharedGpu) -> Iterator[Violation]:
    if is_one_process(event.function) or not takes_gpu_only(event.module, by_torch=True, on_gpus=event.on_gpus):
        return
    is_for_several = event.module.engines().several_shown or event.module.mentions(COUNTS_LOCAL_RANKS)
    yield Violation(
        event=event,
        message=(
            f"`{event.wrapper}` gets a model on `{event.place}`{_BESIDE[event.beside_own]}: with several processes on "
            "one machine NCCL fails, or that GPU runs out of memory"
        ),
        provenance=None,
        help=_OWN_GPU[event.beside_own],
        by_default=None if event.beside_own or is_for_several else False,  # each machine may have one process
    )


_BESIDE = {
    False: ", which is the first GPU in every process, as nothing gives a process a GPU of its own",
    True: " in every process, and not on the GPU that the process has chosen for itself",
}
_OWN_GPU = {
    False: 'call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before anything is moved to `cuda`',
    True: "move it to the process's own GPU: to `cuda`, once `torch.cuda.set_device` has chosen it",
}


def _is_on_one_node(event: DeviceChosen) -> bool:
    if is_on_one_node(event.module):
        return True
    if isinstance(_read(event.provenance), RemainderOfRank):
        return False  # whoever takes a remainder thinks of several nodes
    return event.module.engines().one_node and not tells_nodes_apart(event.module, event.function)


def _chosen(event: DeviceChosen) -> Violation:
    site = here = Site(event.module, event.node, event.function)
    provenance = event.provenance
    if provenance is not None and not _is_inside(provenance.node, event) and _tells_device(event, provenance):
        # Report it in another function that determines the device. One that only tells the rank is right.
        site = Site(provenance.module, provenance.node, event.function)
    index = "" if event.expression is None else f" (`{shown_source(event.module, event.expression)}`)"
    return Violation(
        event=event,
        site=site,
        message=(
            f"the global rank is used as a GPU index{index}: on a second node there is no such GPU (with 8 GPUs per "
            "node, rank 8 asks for `cuda:8`)"
        ),
        provenance=(provenance or event.index.provenance)
        if site is here
        else Step(event.module, here.node, "the device is chosen here"),
        help=f"use the rank on this node: {said('local rank', event)}",
        by_default=False,  # most train on one node
        cause=id(event.node if (read := _read(provenance)) is None else read.node),
    )


def _tells_device(event: DeviceChosen, provenance: Step) -> bool:
    """Whether what another place gives is the name of a device, or a number that is meant for one.

    That is the rank in a group, which turns out to be that of all ranks, or modulo the number of processes.
    """
    if event.index.kind is Kind.STRING or isinstance(provenance, RemainderOfRank):
        return True
    from libcst import Attribute, Name

    return any(isinstance(each.value, (Attribute, Name)) for each in getattr(provenance.node, "args", ()))


def _read(provenance: Step | None) -> Step | None:
    """Where the rank is read with which a device is chosen."""
    return provenance.before if isinstance(provenance, NamedByRank) else provenance


def _is_inside(node: Any, event: DeviceChosen) -> bool:
    """Whether a statement belongs to the function in which a device is chosen."""
    from trl_lint.analysis.program.syntax import ancestors

    function = event.function.node if event.function is not None else event.module.tree
    return node is function or bool(ancestors(function, node))
