"""Devices: where a tensor is, or which device a value names, and what that is in operations and joins.

>>> from trl_lint.domain.kinds import NumberValue, TensorValue
>>> on_cpu, on_gpu = TensorValue(device="cpu"), TensorValue(device="cuda:0")
>>> together([on_cpu, NumberValue()]), together([TensorValue(), TensorValue()])
('cpu', '')
>>> together([on_cpu, on_gpu]), joined(on_cpu, on_cpu), joined(on_cpu, TensorValue())
('cpu?', 'cpu', 'cpu?')
"""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind, Value


class Device(str):
    """Where a tensor is, or the device that a value names; `provenance` is the step that put it there.

    A fixed device goes by its name (`cuda:0`).
    """

    __slots__ = ("provenance",)
    provenance: Step | None

    def __new__(cls, name: str, provenance: Step | None = None) -> Device:
        place = super().__new__(cls, name)
        place.provenance = provenance
        return place


# Places that are no devices: something else than a tensor of torch; on the CPU on some ways to this point and not
# on others; the number of this process in the whole job, which on a second node is no device of the machine.
HOST = "host"


MAYBE_CPU = "cpu?"


# Of a model, which is in no one place: it was put into evaluation mode; on some ways all of it was frozen, and on
# others not; all but a part was frozen.
EVALUATED = Device("eval")


MAYBE_FROZEN = Device("frozen?")


PARTLY_FROZEN = Device("partly frozen")


GLOBAL_RANK = "global rank"


def together(sources: Sequence[Value]) -> str:
    """Where the result of an operation on these is: where its tensors are, if that is the same for all of them."""
    found: str | None = None
    for source in sources:
        if source.device and source.device != GLOBAL_RANK:
            break
    else:
        return ""
    host = ""
    for source in sources:
        if source.kind in _NEUTRAL:
            host = host or (source.device if source.device != GLOBAL_RANK else "")
            continue
        found = source.device if found is None else _either(found, source.device)
    return host if found is None else found


_NEUTRAL = frozenset({Kind.NUMBER, Kind.NUMBER_LIST, Kind.STRING, Kind.NONE, Kind.MODULE, Kind.TUPLE})


def joined(a: Value, b: Value) -> str:
    """Where a value is that is one of these."""
    if a.device == b.device or b.kind is Kind.NONE:
        return a.device
    if a.kind is Kind.NONE:
        return b.device
    for one, other in ((a, b), (b, a)):
        if one.device == GLOBAL_RANK and not other.device:
            return one.device
    return _either(a.device, b.device)


def _either(a: str, b: str) -> str:
    if a == b:
        return a
    if HOST in (a, b):
        return HOST
    return MAYBE_CPU if a.startswith("cpu") or b.startswith("cpu") else ""
