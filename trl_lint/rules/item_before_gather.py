"""A Python number reaches a collective that takes tensors.

## What it does
Reports a Python number (`.item()`, `float()`, `int()`, `len()`, arithmetic on them, directly or through
locals, attributes and helpers), or a dict of them, that is handed to `gather`, `gather_for_metrics`,
`reduce`, `pad_across_processes`, `Trainer._nested_gather` or one of torch.distributed's tensor
collectives.

## Why is this bad?
Collectives move tensors. `accelerator.gather_for_metrics(loss.item())` works under bare python, where it
does nothing, and raises `TypeError: 'int' object is not iterable` as soon as there is a process group,
even of one process.

## Example
```python
total = accelerator.gather_for_metrics(inputs["attention_mask"].sum().item())
```

## Use instead
```python
total = accelerator.gather_for_metrics(inputs["attention_mask"].sum()).sum().item()
```

## Fix safety
The collective stays where its author put it; the local reduction goes inside as a tensor and is repeated
outside, `.item()` last, so that the value on one process is the same. The fix is safe where every rank is
known to get there together, unsafe where that is not known and where a Python float becomes a tensor (which
rounds it), and a hint where ranks may differ, where the
result is used as a list of one value per rank, for dicts and starred arguments, and where no reduction
follows from the code. Leaving the local reduction out as well would gather tensors of different
shapes, which hangs.

## Limits
A number is reported only where it is certain to be one. `gather_object`, `use_gather_object=True`, and
lists or tuples handed to `gather_for_metrics`, which gathers them as objects, are right.

## References
- https://github.com/huggingface/trl/pull/3048 and https://github.com/huggingface/trl/pull/3056
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.gather_for_metrics
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import CollectiveCalled, shown_source
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said

_LAUNCHES = {
    "always": "it raises on any launch",
    "group": "it works under bare python and raises as soon as a process group exists (torchrun, accelerate launch)",
}
_HELP = "keep the local reduction inside as a tensor, repeat it on the result, and call `.item()` last"
_HELP_IN_PLACE = "make it a tensor {}, hand that over, and call `.item()` on it afterwards"


class ItemBeforeGather(Rule[CollectiveCalled]):
    code = "TRL001"
    name = "item-before-gather"
    consequences = (Consequence.CRASH,)
    always_fails = True

    def check(self, event: CollectiveCalled) -> Iterator[Violation]:
        if not _is_number(event):
            return
        own_name = event.row.name.rpartition(".")[2]
        yield Violation(
            event=event,
            message=(f"`{own_name}` gets {_what(event)}, not a tensor: {_LAUNCHES[event.row.fails]}"),
            provenance=event.operand.why or Step(event.module, event.argument, "the number is made here"),
            help=_HELP if event.row.into is None else _HELP_IN_PLACE.format(said("device", event)),
        )


def _is_number(event: CollectiveCalled) -> bool:
    """Certain to be a Python number, or a container that holds some where a container is not right."""
    kind = event.operand.kind
    if kind is Kind.NUMBER:
        return True
    if kind is Kind.NUMBER_LIST:
        return not event.row.lists
    return any(entry.container == "dict" or not event.row.lists for entry in event.numbers)


def _what(event: CollectiveCalled) -> str:
    if event.operand.kind is Kind.NUMBER:
        return f"a Python number (`{shown_source(event.module, event.argument.value)}`)"
    keys = [entry.key for entry in event.numbers if entry.container == "dict" and entry.key]
    if keys:
        return f"a dict of Python numbers ({', '.join(keys[:3])}{', …' * (len(keys) > 3)})"
    return f"a {event.numbers[0].container if event.numbers else 'list'} of Python numbers"
