"""Backends: what communicates tensors in the program of a file, and whether it accepts tensors on the CPU.

There is one answer per file, in whatever order its code is: a process group lasts from where it is started. A file
without such code has the answer of the program that calls it.

    dist.init_process_group("nccl")           moves_gpu: a tensor on the CPU fails in a collective of this file
    dist.init_process_group("cpu:gloo,cuda:nccl")  takes_cpu: it does not fail
    with torch.device("cuda"): ...            takes_cpu: tensors are created on another device by default
    with torch.device("cuda"):                makes_elsewhere, in the file of the class: only a model is made there
        model = Model()
    torch.cuda.set_device(0)                  sees_own_gpu: each process sees one GPU of its own, as its first
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from trl_lint.analysis.device_events import WrappedOnSharedGpu
from trl_lint.analysis.events import CollectiveCalled, Event
from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.definitions.unit_tests import is_test_file
from trl_lint.analysis.state.event_trace import EventTrace, called_traces
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.processes.groups import is_for_gpus
from trl_lint.domain.kinds import DeviceValue, LibraryName, NoneValue, library_name_of
from trl_lint.domain.process_groups import GpuGroup, LikeAllRanks
from trl_lint.domain.values import Value
from trl_lint.knowledge import library
from trl_lint.knowledge.backends import (
    CHOOSE_GPU,
    CHOOSE_NCCL,
    LOCAL_ADDRESS,
    MAKE_TENSORS_ELSEWHERE,
    NAMES_BACKEND,
    RUN_BY_LIGHTNING,
    START_NCCL,
    STAY_ON_CPU,
)
from trl_lint.knowledge.launcher_variables import LOCAL_RANK_VARIABLES
from trl_lint.knowledge.process_starts import NAME_BACKEND, TAKE_NCCL
from trl_lint.knowledge.schema import OWN_DEVICE

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


# What uses the process group, and says whether the program that runs it has started one for GPUs.
_USE_GROUP = (CollectiveCalled, WrappedOnSharedGpu)


class Backends:
    """What a file, or a run, shows of its backend.

    moves_gpu: the file starts a process group with a backend for GPUs. takes_cpu: it starts one that may accept tensors
    on the CPU, stays on the CPU by a setting, or creates tensors on another device by default. sees_own_gpu: code that
    starts the group lets all processes choose the same GPU, as in a job whose tasks see one each (`srun
    --gpus-per-task=1`). makes_elsewhere: models of its classes are made on another device by default.
    """

    def __init__(self) -> None:
        self.moves_gpu = False
        self.takes_cpu = False
        self.sees_own_gpu = False
        self.makes_elsewhere = False


class BackendChoice(Observer["Frame"]):
    needed_by = frozenset(_USE_GROUP)  # to know whether an operand is on the wrong device

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        _note(frame, name, args)
        if name in CHOOSE_GPU and args.positional and type(args.positional[0].const) is int and _is_start(frame, node):
            _record(frame, sees_own_gpu=True)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if base:
            _note(frame, base, args)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """A collective in a helper uses the process group that the program has started, or the Trainer that runs it.

        Each of the processes that a program starts may start it: `mp.spawn(train)`.
        """
        if not any(isinstance(each, _USE_GROUP) for each in events):
            return events
        started = (program, *program.started)
        runs = [trace.notes.of(Backends) for each in started for trace in called_traces(each)]
        if any(each.takes_cpu for each in runs):
            return events
        if not (any(each.moves_gpu for each in runs) or _is_run_by_library(program.module)):
            return events
        return [replace(each, on_gpus=True) if isinstance(each, _USE_GROUP) else each for each in events]

    def on_enter(self, frame: Frame, item: cst.BaseExpression, value: Value) -> None:
        """Inside `with torch.device(…)` tensors are created on that device."""
        from trl_lint.analysis.transfer.models.made_on_devices import files_of_models, is_without_contents

        if not isinstance(value, DeviceValue) and library_name_of(value) != OWN_DEVICE.name:
            return
        if is_without_contents(frame, item):
            return
        files = files_of_models(frame, item)
        if files is None:
            _record(frame, takes_cpu=True)
            return
        for each in files:
            each.notes.of(Backends).makes_elsewhere = True
            frame.engine.note_stored(Backends, each)


def _note(frame: Frame, name: str, args: Arguments) -> None:
    parameter = NAME_BACKEND.get(name)
    if name in MAKE_TENSORS_ELSEWHERE:
        _record(frame, takes_cpu=True)
    if parameter is not None:
        has_all_arguments = args.star is None and args.double is None
        is_gpu = is_for_gpus(args.get(*parameter), has_all_arguments and name.startswith(TAKE_NCCL))
        is_gpu = is_gpu or _is_nccl_by_default(frame, args.node(*parameter))
        is_gpu = is_gpu or _is_nccl_on_gpus(frame, args.node(*parameter))
        _record(frame, moves_gpu=is_gpu, takes_cpu=not is_gpu)
    elif _chooses(name):
        is_cpu = _names_cpu(args)
        frame.trace.notes.of(Backends).moves_gpu |= not is_cpu
        if is_cpu:
            _record(frame, takes_cpu=True)


def _is_nccl_by_default(frame: Frame, backend: cst.Arg | None) -> bool:
    """Whether the backend is an option of the program that is NCCL unless a command says otherwise."""
    from trl_lint.analysis.program.idioms.option_defaults import option_default

    default = None if backend is None else option_default(frame.module, backend.value)
    return default is not None and default.lower() == "nccl"


def _is_nccl_on_gpus(frame: Frame, backend: cst.Arg | None) -> bool:
    """Whether the backend is NCCL wherever there are GPUs: `"nccl" if torch.cuda.is_available() else "gloo"`."""
    import libcst as cst

    from trl_lint.analysis.program.syntax import resolved
    from trl_lint.analysis.transfer.processes.job_flags import on_gpus

    chosen = None if backend is None else resolved(frame.root, backend.value)
    branch = on_gpus(frame, chosen) if isinstance(chosen, cst.IfExp) else None
    return isinstance(branch, cst.BaseExpression) and is_for_gpus(frame.engine.evaluate(frame, branch))


def _names_cpu(args: Arguments) -> bool:
    """Whether the arguments of a call that chooses the backend disable the GPU, or name a backend for the CPU."""
    return any(args.keywords[name].const is True for name in STAY_ON_CPU if name in args.keywords) or any(
        not is_for_gpus(args.keywords[name]) for name in NAMES_BACKEND if name in args.keywords
    )


def _is_start(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a call is unconditional and in a function that starts the process group."""
    from libcst import If

    from trl_lint.analysis.program.syntax import ancestors, names_in

    is_conditional = any(isinstance(each, If) for each in ancestors(frame.root, node))
    return not is_conditional and any(name.rpartition(".")[2] in names_in(frame.root) for name in NAME_BACKEND)


def _record(frame: Frame, *, moves_gpu: bool = False, takes_cpu: bool = False, sees_own_gpu: bool = False) -> None:
    for notes in (frame.module.notes, frame.trace.notes):
        backends = notes.of(Backends)
        backends.moves_gpu |= moves_gpu
        backends.takes_cpu |= takes_cpu
        backends.sees_own_gpu |= sees_own_gpu
    frame.engine.note_stored(Backends, frame.module, moves_gpu, takes_cpu, sees_own_gpu)


# --- queries of rules -----------------------------------------------------------------------------------


def takes_gpu_only(
    module: Module, groups: Sequence[Value] = (), *, by_torch: bool = False, on_gpus: bool = False
) -> bool:
    """Whether a collective in a file accepts tensors on GPUs only: one of torch, if it is known who started its group.

    groups: the process groups that it is passed. on_gpus: the calling program has started one for GPUs.
    """
    subgroups = [group for group in groups if not _is_of_all_ranks(group)]
    if subgroups:
        return all(isinstance(group, GpuGroup) for group in subgroups)
    backends = module.notes.of(Backends)
    if backends.takes_cpu or backends.makes_elsewhere:
        return False
    return not by_torch or on_gpus or backends.moves_gpu or any(map(_is_chooser, module.names.values()))


def _is_run_by_library(module: Module | None) -> bool:
    """Whether a file defines a class of a library that starts the process group and calls it, such as a trainer."""
    if module is None or module.notes.of(Backends).takes_cpu:
        return False
    return any(_chooses(base) for cls in module.classes for base in cls.library_bases())


def sees_own_gpu(module: Module) -> bool:
    """Whether each process of a file's program sees one GPU only, as its first."""
    return module.notes.of(Backends).sees_own_gpu


def stays_on_cpu(module: Module) -> bool:
    """Whether a file starts a backend for tensors on the CPU, and none for tensors on GPUs."""
    backends = module.notes.of(Backends)
    return backends.takes_cpu and not backends.moves_gpu


def _is_of_all_ranks(group: Value) -> bool:
    return isinstance(group, (NoneValue, LikeAllRanks))


def _is_chooser(value: Value) -> bool:
    if isinstance(value, ClassValue):
        return any(map(_chooses, value.cls.library_bases()))
    return isinstance(value, LibraryName) and _chooses(value.name)


@cache
def _chooses(name: str) -> bool:
    root, _, _ = name.partition(".")
    return root in CHOOSE_NCCL or any(library.is_subclass(name, base) for base in (*START_NCCL, *RUN_BY_LIGHTNING))


def uses_accelerate(module: Module) -> bool:
    """Whether Accelerate starts the process group in a file, itself or for a trainer."""
    return any(_is_chooser(value) and not _starts_otherwise(value) for value in module.names.values())


def _starts_otherwise(value: Value) -> bool:
    """Whether DeepSpeed or Lightning starts the process group itself."""
    bases = value.cls.library_bases() if isinstance(value, ClassValue) else [library_name_of(value)]
    return any(base in RUN_BY_LIGHTNING or base.partition(".")[0] == "deepspeed" for base in bases)


def is_on_one_node(module: Module) -> bool:
    """Whether all processes that run a file are on one machine: a test, or an address that only it can reach."""
    return is_test_file(module.path) or module.mentions(LOCAL_ADDRESS)


def tells_nodes_apart(module: Module, function: FunctionInfo | None) -> bool:
    """Whether code asks the launcher for its rank on this node: then it is written for several, however it is run."""
    from libcst import SimpleString

    from trl_lint.analysis.program.syntax import of_class

    texts = of_class(module.tree if function is None else function.node, SimpleString)
    return any(each.raw_value in LOCAL_RANK_VARIABLES for each in texts)


OBSERVER = BackendChoice()
