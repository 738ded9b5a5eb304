"""Which rows of a data set each batch has: recorded, and in another run assigned to the ranks by the job.

One process that reads, step by step, the rows that all ranks read together computes what they should report, in
whatever order a sampler assigned them, and however it filled up a last batch. This covers the rows of data sets that
are read by index; a stream can't be read again by row.

A data set is identified by its number in the order in which they were first read, which is the same in every run of a
script. Sources: torch/utils/data/dataloader.py `_BaseDataLoaderIter` of torch 2.13.0; accelerate/state.py
`GradientState.active_dataloader`, the loader of the current loop although the next batches were fetched before.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, cast

from . import controlled, trace, wrapping
from .imports import Patch
from .job import Job
from .wrapping import Function

if TYPE_CHECKING:
    from torch.utils.data import DataLoader
    from torch.utils.data.dataloader import _BaseDataLoaderIter

# By data set and by the number of the pass over it, the rows of each batch.
Dealt: TypeAlias = dict[str, dict[str, list[list[int]]]]
# torch's constant for a data set that is read by index.
_BY_INDEX = 0
# The data sets that were read, kept alive so that no other one gets the same id.
_read: list[object] = []
_times: dict[int, int] = {}
_trained: set[int] = set()
_last: list[object] = []


def patches(job: Job) -> Mapping[str, Patch]:
    """The patches by module. In a run that is not controlled only the passes are counted."""
    of_tensor = {"torch._tensor": _patch_tensor} if job.controlled else {}
    return {"torch.utils.data.dataloader": _patch_loader(job), **of_tensor}


def passes() -> int:
    """How often the data set of the current loop was started; 0 outside of a loop."""
    data_set = _in_loop()
    return 0 if data_set is None else _times.get(_number(data_set), 0)


def is_training() -> bool:
    """Whether the script is in a loop over data that it trains on, as far as that is known."""
    import torch

    data_set = _in_loop()
    return data_set is not None and torch.is_grad_enabled() and _number(data_set) in _trained


def _patch_loader(job: Job) -> Patch:
    @cache
    def dealt() -> Dealt:
        return _of_rank(job.rows, int(os.environ.get("RANK", "0")))

    def patch(module: ModuleType) -> None:
        for name in ("__init__", "_reset"):
            wrapping.replace(module._BaseDataLoaderIter, name, _record_rows(job, dealt))

    return patch


def _of_rank(rows: str, rank: int) -> Dealt:
    """The rows that a rank is to read; empty if the script's own samplers decide."""
    if not rows:
        return {}
    by_rank: list[Dealt] = json.loads(Path(rows).read_text(encoding="utf-8"))
    return by_rank[rank] if rank < len(by_rank) else {}


def _record_rows(job: Job, dealt: Callable[[], Dealt]) -> wrapping.Wrapper:
    """Wrap a method that starts a loader's rows: record those of each batch, or replace them by those of the job."""

    def make(original: Function) -> Function:
        def recorded(self: _BaseDataLoaderIter, loader: DataLoader[object], *args: object, **kwargs: object) -> None:
            original(self, loader, *args, **kwargs)
            is_asked = job.controlled and loader._dataset_kind == _BY_INDEX and loader._auto_collation
            self._sampler_iter = _counted(self._sampler_iter, loader.dataset, dealt if is_asked else None, job.seed)

        return recorded

    return make


def _counted(
    rows: Iterator[object], data_set: object, dealt: Callable[[], Dealt] | None, seed: int
) -> Iterator[object]:
    """The rows of one pass over a data set, which starts with the first row: torch also creates unused iterators."""
    number = _number(data_set)
    times = _times[number] = _times.get(number, 0) + 1
    if dealt is not None and times == 1:
        controlled.go_on_with(seed)
        trace.write("data_set", data_set=number, holds=_sample(data_set))
    instead = dealt().get(str(number), {}).get(str(times)) if dealt is not None else None
    for batch in rows if instead is None else instead:
        _last[:] = [data_set]
        if dealt is not None:
            trace.write("rows", data_set=number, times=times, rows=_as_numbers(batch))
        yield batch


def _sample(data_set: object) -> str:
    """A digest of the first row, the last and one in the middle, which shows whether ranks have the same data."""
    digest = hashlib.blake2b(digest_size=8)
    try:
        rows = cast("Sequence[object]", data_set)
        size = len(rows)
        for row in (0, size // 2, size - 1):
            digest.update(repr(_plain(rows[row])).encode())
    except Exception:  # a data set may do anything with a row
        return ""
    return f"{size} {digest.hexdigest()}"


def _plain(value: object) -> object:
    """A row in a form that is the same in every process."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return [(key, _plain(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (str, bytes, int, float, type(None))) else type(value).__name__


def _number(data_set: object) -> int:
    for number, each in enumerate(_read):
        if each is data_set:
            return number
    _read.append(data_set)
    return len(_read) - 1


def _as_numbers(batch: object) -> list[int] | None:
    """The rows of a batch; None if they have no numbers."""
    if not isinstance(batch, (list, tuple)):
        return None
    rows = [getattr(each, "item", lambda each=each: each)() for each in batch]
    return rows if all(type(each) is int for each in rows) else None


def _patch_tensor(module: ModuleType) -> None:
    """`backward` records which data set is trained on: that of the loop that it is called in."""

    def make(original: Function) -> Function:
        def backward(*args: object, **kwargs: object) -> object:
            data_set = _in_loop()
            number = _number(data_set) if data_set is not None else None
            if number is not None and number not in _trained:
                _trained.add(number)
                trace.write("trained", data_set=number)
            return original(*args, **kwargs)

        return backward

    wrapping.replace(module.Tensor, "backward", make)


def _in_loop() -> object | None:
    """The data set of the current loop, as far as that is known."""
    state = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    loader = state().active_dataloader if state is not None and state._shared_state else None
    found = getattr(loader, "dataset", None)
    return found if found is not None else next(iter(_last), None)
