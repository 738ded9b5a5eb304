"""Devices: where a tensor is, or which device a value names, and the results of operations and joins.

>>> from trl_lint.domain.kinds import NumberValue, TensorValue
>>> on_cpu, on_gpu = TensorValue(device="cpu"), TensorValue(device="cuda:0")
>>> together([on_cpu, NumberValue()]), together([TensorValue(), TensorValue()])
('cpu', '')
>>> together([on_cpu, on_gpu]), joined(on_cpu, on_cpu), joined(on_cpu, TensorValue())
('cpu?', 'cpu', 'cpu?')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind, Value


class Device(str):
    """Where a tensor is, or the device that a value names; `provenance` is the step that put it there.

    A fixed device has its own name (`cuda:0`).
    """

    __slots__ = ("provenance",)
    provenance: Step | None

    def __new__(cls, name: str, provenance: Step | None = None) -> Device:
        place = super().__new__(cls, name)
        place.provenance = provenance
        return place


# Names that are no devices. HOST: not a tensor of torch. MAYBE_CPU: on the CPU on some paths to this point, elsewhere
# on others. GLOBAL_RANK: the rank in the whole job, which on a second node is not the index of a device. BY_RANK: the
# name of a device with it. GLOBAL_SIZE: the number of processes in the whole job.
HOST = "host"


MAYBE_CPU = "cpu?"


# For models, which have no single device. EVALUATED: in evaluation mode. MAYBE_FROZEN: frozen as a whole on some paths
# only. PARTLY_FROZEN: all but a part is frozen.
EVALUATED = Device("eval")


MAYBE_FROZEN = Device("frozen?")


PARTLY_FROZEN = Device("partly frozen")


# Frozen but for the parameters with some words in their names, or for some that are not known.
_FROZEN_BUT = "frozen but "


def frozen_but(words: Iterable[str]) -> Device:
    return Device(f"{_FROZEN_BUT}{' '.join(sorted(words))}")


def words_of_trained(device: str) -> tuple[str, ...] | None:
    """The words in the names of what is trained of a model, none if they are not known; None if names do not decide."""
    return tuple(device.removeprefix(_FROZEN_BUT).split()) if device.startswith(_FROZEN_BUT) else None


GLOBAL_RANK = "global rank"


BY_RANK = "device by global rank"


GLOBAL_SIZE = "number of all processes"


OF_RANK = frozenset({GLOBAL_RANK, BY_RANK, GLOBAL_SIZE})


def together(sources: Sequence[Value]) -> str:
    """The device of the result of an operation on these values: that of its tensors, if they all agree."""
    found: str | None = None
    for source in sources:
        if source.device and source.device not in OF_RANK:
            break
    else:
        return ""
    host = ""
    for source in sources:
        if source.kind in _NEUTRAL:
            host = host or (source.device if source.device not in OF_RANK else "")
            continue
        found = source.device if found is None else _either(found, source.device)
    return host if found is None else found


_NEUTRAL = frozenset({Kind.NUMBER, Kind.NUMBER_LIST, Kind.STRING, Kind.NONE, Kind.MODULE, Kind.TUPLE})


def joined(a: Value, b: Value) -> str:
    """The device of a value that is one of these two."""
    if a.device == b.device or b.kind is Kind.NONE:
        return a.device
    if a.kind is Kind.NONE:
        return b.device
    for one, other in ((a, b), (b, a)):
        if one.device == GLOBAL_SIZE and other.const != 1:  # it is 1 without a process group
            continue
        if one.device in OF_RANK and not other.device:
            return one.device
    return _either(a.device, b.device)


def _either(a: str, b: str) -> str:
    if a == b:
        return a
    if HOST in (a, b):
        return HOST
    return MAYBE_CPU if a.startswith("cpu") or b.startswith("cpu") else ""
