"""A process that has imported a script's libraries and runs ranks in forks of itself, which start at once.

Its first input line says what to import, then each job is a request, answered with the reason why a fork would differ
from a separate process, if there is one (`importing.py`). If not, the next line says whether to start, and the end of
each rank is reported. In its fork a rank does the same as under a launcher (`supervisor.py`). SIGTERM ends the running
ranks as torchrun would.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NoReturn, TextIO

from . import huge_pages, imports, program, supervisor
from .importing import Imported
from .job import Job

# The running ranks.
_children: list[int] = []
# The streams to the client, which are closed in the ranks.
_private: list[int] = []


def main() -> None:
    """Import the requested modules, then answer requests until there are no more."""
    requests, answers = _take_streams()
    setup = json.loads(requests.readline())
    sys.path[0] = os.path.join(sys.path[0], "none")  # the script's folder is not known yet
    imported = Imported(setup["modules"])
    gc.collect()
    gc.freeze()  # garbage collection in a rank would copy the memory that it shares with the others
    huge_pages.collapse()
    imports.remember_copies(program.patches(Job("", (), "", "", devices=True, controlled=True)))
    signal.signal(signal.SIGTERM, _stop)
    while line := requests.readline():
        request = json.loads(line)
        job, environments = Job.load(request["job"]), request["environments"]
        unfit = (imported.unfit(job, each, frozenset(setup["launchers"])) for each in environments)
        _send(answers, next(filter(None, unfit), ""))
        if json.loads(requests.readline()):
            _run_all(answers, job, request["folder"], environments)


def _take_streams() -> tuple[TextIO, int]:
    """Keep the streams to the client; output of libraries at import is discarded."""
    _private[:] = [os.dup(0), os.dup(1)]
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    return open(_private[0]), _private[1]


def _run_all(answers: int, job: Job, folder: str, environments: Sequence[Mapping[str, str]]) -> None:
    """Run the ranks of a job in forks, and report the end of each."""
    signal.pthread_sigmask(signal.SIG_BLOCK, supervisor.STOPS)
    _children[:] = [os.fork() or _run(job, folder, each) for each in environments]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, supervisor.STOPS)
    while _children:
        child, status = os.wait()
        if child in _children:
            _children.remove(child)
            _send(answers, status)


def _send(answers: int, message: str | int) -> None:
    os.write(answers, f"{json.dumps(message)}\n".encode())


def _stop(number: int, frame: FrameType | None) -> None:
    for child in _children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)


def _run(job: Job, folder: str, environment: Mapping[str, str]) -> NoReturn:
    """Run one rank in this process, as if it had been started with this environment in this folder."""
    for stream in _private:
        os.close(stream)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    _reseed()
    supervisor.supervise(job, int(environment.get("RANK", "0")))


def _reseed() -> None:
    """Seed generators again, as separate processes draw differently; Python's own generator does so itself."""
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    if torch := sys.modules.get("torch"):
        torch.default_generator.seed()
