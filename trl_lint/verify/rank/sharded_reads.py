"""What the script's own code reads from DTensors, such as FSDP 2's parameters and gradients: numbers, local copies.

A DTensor whose parts are still to be reduced (a norm, a sum) silently returns the number of its own part on each rank;
a copy by `to_local` has only this rank's part. Reads by libraries are not recorded: they may intend the part.

Source: torch/distributed/tensor/_api.py `DTensor` of torch 2.13.0, up to 2.4 torch/distributed/_tensor/api.py.
"""

from __future__ import annotations

import contextlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from . import call_stack, parts, trace, wrapping
from .imports import Patch
from .job import Job
from .wrapping import Function, Wrapper

if TYPE_CHECKING:
    from torch import Tensor

# The modules that define DTensor, by release.
MODULES = ("torch.distributed.tensor._api", "torch.distributed._tensor.api")
# Methods that convert a tensor to a Python number.
NUMBERS = ("item", "__float__", "__int__", "__bool__")
# Copies of larger parts are not examined, as this reads them again in double precision.
MOST_ELEMENTS = 50_000_000
# It reads the values that the script passes to a log.
_SINKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sinks.py")


def patch(job: Job) -> Patch:
    """The patch of a module that defines DTensor."""

    def patch_module(module: ModuleType) -> None:
        cls = module.DTensor
        if NUMBERS[0] in vars(cls):  # the older name of a module that is already patched
            return
        for name in NUMBERS:
            wrapping.replace(cls, name, _recording_number(job))
        wrapping.replace(cls, "to_local", _recording_copy(job))

    return patch_module


def _recording_number(job: Job) -> Wrapper:
    def make(original: Function) -> Function:
        def read(self: Tensor) -> object:
            number = original(self)
            file = sys._getframe(1).f_code.co_filename
            if trace.current is not None and (file in job.user_files or file == _SINKS):
                with contextlib.suppress(Exception):
                    _record_number(job, self, number)
            return number

        return read

    return make


def _record_number(job: Job, tensor: Tensor, number: object) -> None:
    at, how = call_stack.current(job.user_files), parts.together(tensor)
    is_rounded = isinstance(number, bool) and "bool" not in str(tensor.dtype)
    if at and at[0][0] in job.user_files and how is not None and not is_rounded and isinstance(number, (int, float)):
        group = parts.holders(tensor, "is_partial")
        trace.write("sharded_number", value=float(number), how=how, group=group, at=at)


def _recording_copy(job: Job) -> Wrapper:
    def make(original: Function) -> Function:
        def copied(self: Tensor, *args: object, **kwargs: object) -> object:
            copy = original(self, *args, **kwargs)
            if trace.current is not None and sys._getframe(1).f_code.co_filename in job.user_files:
                with contextlib.suppress(Exception):
                    _record_copy(job, self)
            return copy

        return copied

    return make


def _record_copy(job: Job, tensor: Tensor) -> None:
    group, part = parts.holders(tensor, "is_shard"), parts.local(tensor)
    if group and parts.together(tensor) == "" and part.numel() <= MOST_ELEMENTS:
        exact = part.double()
        at = call_stack.current(job.user_files)
        norm, total = float(exact.norm()), float(exact.sum())
        trace.write("sharded_copy", norm=norm, sum=total, size=part.numel(), of=tensor.numel(), group=group, at=at)
