"""One rank is two processes: one runs the script, the other observes how it ends.

Whatever happens to the first, an abort in C++ or a kill by the system for lack of memory, its exit status is recorded.
When the launcher stops a rank because another one has failed, its stack is written first.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from . import descendants, executing, program, trace
from .job import Job

# Seconds without further output after which the stacks of all threads are complete, and the longest wait for them: the
# script may have replaced the handler, and the machine may be busy.
STACK_SECONDS, MOST_STACK_SECONDS = 0.3, 10
LOOK_SECONDS = 0.05
STOPS = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1
_SYSTEM = ctypes.CDLL(None)


def main(path: str) -> NoReturn:
    """Run one rank of the job in a file; its number is in the launcher's variable RANK."""
    supervise(Job.load(path), int(os.environ.get("RANK", "0")))


def supervise(job: Job, rank: int) -> NoReturn:
    """Run one rank in a child process and end with its status."""
    die_with_parent()
    for path in (trace.trace_path, trace.stacks_path, trace.output_path):
        path(job.traces, rank).unlink(missing_ok=True)  # of an earlier run
    executing.forget(job.traces, rank)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # until there is a handler
    descendants.adopt()
    child = os.fork()
    if not child:
        die_with_parent()
        os.setpgid(0, 0)  # torchrun signals the whole group, but the script's stack is needed first
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        _redirect(job, rank)
        program.run(job, rank)
    with contextlib.suppress(OSError):  # either of the two may be first
        os.setpgid(child, child)
    stops: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stops.append(number)
        with contextlib.suppress(ProcessLookupError):
            if len(stops) == 1:
                os.kill(child, program.STACKS)
                _wait_for_stacks(child, trace.stacks_path(job.traces, rank))
            os.killpg(child, signal.SIGKILL)  # and what the script has started

    for number in STOPS:
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    code = _wait(child)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what the script has left running would disturb the next run
    descendants.end_children()
    trace.Trace(trace.trace_path(job.traces, rank)).write("exit", status=code, asked_to_stop=bool(stops))
    sys.stdout.flush()
    os._exit(code if code >= 0 else 128 - code)


def _wait_for_stacks(child: int, path: Path) -> None:
    """Wait until the stacks of a process are written, or it can't write any."""
    begun = since = time.monotonic()
    size = 0
    while time.monotonic() - begun < MOST_STACK_SECONDS and _is_running(child):
        now = path.stat().st_size if path.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        elif size and time.monotonic() - since >= STACK_SECONDS:
            return
        time.sleep(LOOK_SECONDS)


def _is_running(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _wait(child: int) -> int:
    """The exit status of a process, negative for a signal."""
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _redirect(job: Job, rank: int) -> None:
    """Redirect the script's output to a file of its rank."""
    file = os.open(trace.output_path(job.traces, rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(file, stream)


def die_with_parent() -> None:
    """End this process with its launcher, which starts it in its own session (Linux; elsewhere it may survive)."""
    with contextlib.suppress(OSError, AttributeError):
        _SYSTEM.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
