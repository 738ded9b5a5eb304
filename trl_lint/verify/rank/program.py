"""Runs the script of a job in this process, as `python script.py` would, and records how it ended."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from . import (
    caches,
    call_stack,
    collectives,
    compiling,
    controlled,
    cpu_group,
    dealing,
    emulation,
    executing,
    flight_recorder,
    fsdp,
    functional,
    imported,
    imports,
    machine,
    made,
    marking,
    nccl,
    pickling,
    placement,
    precision,
    reads,
    scattering,
    sharded_reads,
    sharding,
    shared_gpus,
    shares,
    sinks,
    trace,
    training,
    writes,
)
from .job import Job

# Seconds for exit handlers after the result is recorded.
LAST_SECONDS = 5
# The signal that requests the stacks of all threads. Scripts use named ones themselves, such as SIGUSR1 of a scheduler.
STACKS = signal.SIGRTMIN + 11 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR1


def patches(job: Job) -> Mapping[str, imports.Patch]:
    """The patches by module, applied after its import."""
    each = [
        ("torch.distributed.distributed_c10d", collectives.patch(job)),
        ("torch.distributed._functional_collectives", functional.patch(job)),
        *((name, sharded_reads.patch(job)) for name in sharded_reads.MODULES),
        ("torch._dynamo.config", compiling.patch_config),
        ("torch._dynamo.convert_frame", compiling.patch_frames(job)),
        ("datasets.utils._dill", pickling.patch_hashing),
        ("dill.detect", pickling.patch_detect),
        ("torch._tensor", nccl.patch_tensor),  # below the next one, which marks the beginning and end
        ("torch._tensor", training.patch_tensor),
        *shared_gpus.patches().items(),
        ("torch.nn.parallel.data_parallel", scattering.patch_data_parallel),
        ("torch.nn.parallel.distributed", training.patch_ddp),
        ("torch.optim.optimizer", training.patch_optimizer),
        ("torch.utils.data.dataloader", sharding.patch_loader(job)),
        *((name, sharding.patch_shards(job, name)) for name in {row[0] for row in sharding.SHARDED}),
        ("accelerate.state", cpu_group.patch_state),
        ("accelerate.state", fsdp.patch_state),
        ("transformers.training_args", precision.patch_arguments),
        ("torch.nn.parallel.distributed", shares.patch_ddp),
        ("torch.cuda", machine.patch_cuda(job)),
        *caches.patches(job).items(),
        *controlled.patches(job).items(),
        *dealing.patches(job).items(),
        *made.patches(job).items(),
        *emulation.patches(job).items(),
        *placement.patches(job).items(),
        *reads.patches(job).items(),
        *((name, sinks.patch(job, name)) for name in {sink.module for sink in sinks.SINKS}),
    ]
    return {name: partial(_all, [patch for other, patch in each if other == name]) for name, _ in each}


def _all(patches: list[imports.Patch], module: ModuleType) -> None:
    for patch in patches:
        patch(module)


def run(job: Job, rank: int) -> NoReturn:
    """Run the script; never returns."""
    trace.current = trace.Trace(trace.trace_path(job.traces, rank))
    trace.write("start", rank=rank, pid=os.getpid(), variables=imported.variables(job))
    imported.watch(job)
    _keep_stacks(job, rank)
    controlled.begin(job)
    writes.watch(job)
    executing.keep(job.traces, rank)
    made.watch(job)
    finder = imports.install(patches(job))
    finder.sources.update(job.sources)
    finder.marked = job.user_files
    end_process = _record_exit(job)
    status = _run_to_end(job)
    _limit_exit_handlers(status, end_process)
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    # Not through the interpreter's own shutdown: threads of torch sometimes abort it after everything is done.
    end_process(status)


def _record_exit(job: Job) -> Callable[[int], NoReturn]:
    """Make `os._exit`, which scripts also use to end, record that first; return the original."""
    original, process = os._exit, os.getpid()

    def recorded_exit(status: int) -> NoReturn:
        if os.getpid() == process:  # a fork of the script ends by itself
            trace.write("end", status=status, at=call_stack.current(job.user_files))
        original(status)

    os._exit = recorded_exit
    return original


def _limit_exit_handlers(status: int, end_process: Callable[[int], NoReturn]) -> None:
    """End in time whatever exit handlers do, with the script's own status: it has done its work."""
    timer = threading.Timer(LAST_SECONDS, end_process, (status,))
    timer.daemon = True
    timer.start()


def _keep_stacks(job: Job, rank: int) -> None:
    file = open(trace.stacks_path(job.traces, rank), "w")  # noqa: SIM115 (stays open until the process ends)
    faulthandler.enable(file)
    faulthandler.register(STACKS, file, all_threads=True)


def _run_to_end(job: Job) -> int:
    """Run the script and record how it ended; return its exit status."""
    status = 0
    how: dict[str, object] = {}
    try:
        _run_script(job)
        # As in Python: a script ends after its threads. The function is private, so it is not in the type stubs.
        threading._shutdown()  # type: ignore[attr-defined]
    except SystemExit as error:
        status = _status(error.code)
        how = _how(job, error, error.code if isinstance(error.code, str) else "")
    except BaseException as error:
        with contextlib.suppress(Exception):
            traceback.print_exc()
        status = 1
        how = {"error": type(error).__name__, **_how(job, error, str(error))}
    flight_recorder.record(job)
    imported.record()
    machine.record()
    trace.write("end", status=status, **how)
    if status == 0:
        training.record()
    return status


def _status(code: object) -> int:
    """The exit status that Python derives from `sys.exit(code)`."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    with contextlib.suppress(Exception):
        print(code, file=sys.stderr)
    return 1


def _how(job: Job, error: BaseException, said: str) -> dict[str, object]:
    """The message of an exception that ends the script, its origin, and what the process group raised before."""
    stack = call_stack.of_error(error.__traceback__)
    return {"said": _line(said), "at": call_stack.relevant(stack, job.user_files), "group": _line(_of_group(error))}


def _line(text: str) -> str:
    return " ".join(text.split())[:2000]


def _of_group(error: BaseException | None) -> str:
    """The message of the process group, in this exception or in one that led to it."""
    while error is not None:
        stack = call_stack.of_error(error.__traceback__)
        if isinstance(error, RuntimeError) and stack and call_stack.is_of_process_group(stack[0][0]):
            return str(error)
        error = error.__cause__ or error.__context__
    return ""


def _run_script(job: Job) -> None:
    sys.argv = [job.script, *job.args]
    if job.is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(job.script, run_name="__main__", alter_sys=True)
        return
    sys.path[0] = os.path.dirname(os.path.realpath(job.script))
    file = os.path.realpath(job.script)
    text = job.sources.get(file)
    if text is not None:
        imports.show(job.script, text)
    code = marking.compiled(Path(text or job.script).read_bytes(), job.script, text or file)
    main = ModuleType("__main__")
    main.__dict__.update(__file__=job.script, __builtins__=__builtins__, __spec__=None)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)
