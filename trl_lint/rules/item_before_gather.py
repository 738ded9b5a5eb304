"""A Python number is passed to a collective that takes tensors.

## What it does
Reports a Python number (`.item()`, `float()`, `int()`, `len()`, or arithmetic on them), or a dict of such numbers,
that is passed to `gather`, `gather_for_metrics`, `reduce`, `pad_across_processes`, `Trainer._nested_gather` or a
tensor collective of torch.distributed. Numbers are followed through local variables, attributes and helpers.

## Why is this bad?
Collectives exchange tensors. `accelerator.gather_for_metrics(loss.item())` works under bare python, where it does
nothing. As soon as there is a process group, even with one process, it fails:
`TypeError: 'int' object is not iterable`.

## Example
```python
total = accelerator.gather_for_metrics(inputs["attention_mask"].sum().item())
```

## Use instead
```python
total = accelerator.gather_for_metrics(inputs["attention_mask"].sum()).sum().item()
```

## Fix safety
The collective stays in place. The local reduction is passed as a tensor and repeated on the result, with `.item()`
last, so that the value on one process is the same.

- *Safe* if every rank is known to reach the call together.
- *Unsafe* if that is not known, or if a Python float becomes a tensor, which rounds it.
- A *hint* if ranks may diverge, if the result is used as a list with one value per rank, for dicts and starred
  arguments, and if the code does not show which reduction to use.

Do not drop the local reduction as well: that would gather tensors of different shapes, which hangs.

## Limits
Only certain numbers are reported. Object collectives are correct: `gather_object`, `use_gather_object=True`, and lists
or tuples passed to `gather_for_metrics`.

## References
- https://github.com/huggingface/trl/pull/3048 and https://github.com/huggingface/trl/pull/3056
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.gather_for_metrics
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import said
from trl_lint.wording.shown_code import shown_source

_LAUNCHES = {
    "always": "it fails on any launch",
    "group": "it works under bare python and fails as soon as a process group exists (torchrun, accelerate launch)",
}
_HELP = "pass the tensor itself, repeat its reduction on the result, and call `.item()` last"
_HELP_IN_PLACE = "put it into a tensor {}, pass that, and call `.item()` on it afterwards"


class ItemBeforeGather(Rule[CollectiveCalled]):
    code = "TRL001"
    name = "item-before-gather"
    consequences = (Consequence.CRASH,)
    always_fails = True

    def check(self, event: CollectiveCalled) -> Iterator[Violation]:
        if not event.row.fails or not _is_number(event):
            return
        own_name = event.row.name.rpartition(".")[2]
        yield Violation(
            event=event,
            message=(f"`{own_name}` gets {_what(event)}, not a tensor: {_LAUNCHES[event.row.fails]}"),
            provenance=event.operand.provenance or Step(event.module, event.argument, "the number is computed here"),
            help=_HELP if event.row.into is None else _HELP_IN_PLACE.format(said("device", event)),
        )


def _is_number(event: CollectiveCalled) -> bool:
    """Whether the operand is certainly a Python number, or a container of numbers where that is not accepted."""
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
