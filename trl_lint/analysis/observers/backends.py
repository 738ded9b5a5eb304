"""Backends: what communicates tensors in the program of a file, and whether it takes those on the CPU.

That is one answer per file, whatever comes first in it: a process group lasts from where it is started.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trl_lint.analysis.program.objects import ClassValue
from trl_lint.domain.constants import MISSING
from trl_lint.domain.kinds import DeviceValue, GpuGroup, LibraryName, LikeAllRanks, NoneValue, library_name_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.backends import (
    ALL_RANKS,
    CHOOSE_NCCL,
    MAKE_TENSORS_ELSEWHERE,
    NAMES_BACKEND,
    ONE_PROCESS,
    OWN_GROUP_BACKEND,
    START_NCCL,
    STARTERS,
    STAY_ON_CPU,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.classes import FunctionInfo
    from trl_lint.analysis.program.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


def called(frame: Frame, name: str, args: Arguments) -> None:
    """A function or class of a library is called."""
    backends = frame.module.backends
    if name in MAKE_TENSORS_ELSEWHERE:
        backends.takes_cpu = True
    starter = STARTERS.get(name)
    if starter is not None:
        is_gpu = _is_for_gpus(args.get(*starter), name.startswith("deepspeed."))
        backends.moves_gpu |= is_gpu
        backends.takes_cpu |= not is_gpu
    elif _chooses(name):
        told(frame, args)


def told(frame: Frame, args: Arguments) -> None:
    """Who chooses the backend is given arguments, which may say that there is no GPU, or name another one."""
    backends = frame.module.backends
    backends.takes_cpu |= any(args.keywords[name].const is True for name in STAY_ON_CPU if name in args.keywords)
    backends.takes_cpu |= any(not _is_for_gpus(args.keywords[name]) for name in NAMES_BACKEND if name in args.keywords)


def own_group(group: Value, args: Arguments) -> Value:
    """What `new_group` returns, with what is known of its backend."""
    backend = args.get(*OWN_GROUP_BACKEND)
    if backend is None or backend.kind is Kind.NONE:
        return group.as_a(LikeAllRanks)
    return group.as_a(GpuGroup) if _is_for_gpus(backend) else group


def entered(frame: Frame, value: Value) -> None:
    """A `with` statement is entered: inside `with torch.device(…)` tensors are made there."""
    if isinstance(value, DeviceValue):
        frame.module.backends.takes_cpu = True


def _is_for_gpus(backend: Value | None, default: bool = False) -> bool:
    if backend is None or backend.kind is Kind.NONE:
        return default
    return backend.const is not MISSING and isinstance(backend.const, str) and backend.const.lower() == "nccl"


# --- what rules ask -------------------------------------------------------------------------------------


def takes_gpu_only(module: Module, groups: Sequence[Value] = (), *, by_torch: bool = False) -> bool:
    """Whether a collective in a file takes tensors on GPUs only: one of torch does if it is known who started it.

    groups: the process groups that it is given.
    """
    own = [group for group in groups if not _is_of_all(group)]
    if own:
        return all(isinstance(group, GpuGroup) for group in own)
    if module.backends.takes_cpu:
        return False
    return not by_torch or module.backends.moves_gpu or any(map(_is_chooser, module.names.values()))


def _is_of_all(group: Value) -> bool:
    return isinstance(group, (NoneValue, LikeAllRanks)) or library_name_of(group) in ALL_RANKS


def _is_chooser(value: Value) -> bool:
    if isinstance(value, ClassValue):
        return any(map(_chooses, value.cls.library_bases()))
    return isinstance(value, LibraryName) and _chooses(value.name)


def _chooses(name: str) -> bool:
    root, _, _ = name.partition(".")
    return root in CHOOSE_NCCL or any(library.is_subclass(name, base) for base in START_NCCL)


def uses_accelerate(module: Module) -> bool:
    """Whether Accelerate starts the processes' group in a file, itself or for a trainer."""
    return any(_is_chooser(value) and not _is_of("deepspeed", value) for value in module.names.values())


def _is_of(root: str, value: Value) -> bool:
    return library_name_of(value).partition(".")[0] == root


def is_one_process(function: FunctionInfo | None) -> bool:
    """Whether a function is known to be run on one process: as part of a unit test."""
    cls = function.cls if function is not None else None
    return cls is not None and any(base in ONE_PROCESS for base in cls.library_bases())
