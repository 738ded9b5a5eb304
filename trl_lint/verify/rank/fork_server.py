"""A process that has imported a script's libraries and runs ranks in forks of itself: they begin at once.

Line by line it reads what to import, then a request for each job, and answers why a fork would not be the same as a
process of its own, if so (`importing.py`). Where it would, the next line says whether to begin, and each rank's end is
told. What a rank does in its fork is what it does under a launcher (`supervisor.py`). SIGTERM ends the ranks that are
at work as torchrun would.
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

# The ranks that are at work.
_children: list[int] = []
# The streams to whoever asks, which no rank keeps open.
_private: list[int] = []


def main() -> None:
    """Import what is asked for, then answer requests until there are no more."""
    requests, answers = _take_streams()
    asked = json.loads(requests.readline())
    sys.path[0] = os.path.join(sys.path[0], "none")  # what lies beside a script is not known yet
    imported = Imported(asked["modules"])
    gc.collect()
    gc.freeze()  # a rank that collects its garbage would copy all that it shares with the others
    huge_pages.collapse()
    imports.remember_copies(program.patches(Job("", (), "", "", devices=True, controlled=True)))
    signal.signal(signal.SIGTERM, _stop)
    while line := requests.readline():
        request = json.loads(line)
        job, environments = Job.load(request["job"]), request["environments"]
        unfit = (imported.unfit(job, each, frozenset(asked["launchers"])) for each in environments)
        _say(answers, next(filter(None, unfit), ""))
        if json.loads(requests.readline()):
            _run_all(answers, job, request["folder"], environments)


def _take_streams() -> tuple[TextIO, int]:
    """Keep the streams to whoever asks; what libraries print at their import goes nowhere."""
    _private[:] = [os.dup(0), os.dup(1)]
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    return open(_private[0]), _private[1]


def _run_all(answers: int, job: Job, folder: str, environments: Sequence[Mapping[str, str]]) -> None:
    """Run ranks of a job in forks, and tell of each that has ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, supervisor.STOPS)
    _children[:] = [os.fork() or _run(job, folder, each) for each in environments]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, supervisor.STOPS)
    while _children:
        child, status = os.wait()
        if child in _children:
            _children.remove(child)
            _say(answers, status)


def _say(answers: int, told: str | int) -> None:
    os.write(answers, f"{json.dumps(told)}\n".encode())


def _stop(number: int, frame: FrameType | None) -> None:
    for child in _children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)


def _run(job: Job, folder: str, environment: Mapping[str, str]) -> NoReturn:
    """Run one rank in this process, as if it had been started with that environment in that folder."""
    for stream in _private:
        os.close(stream)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    _seed_anew()
    supervisor.supervise(job, int(environment.get("RANK", "0")))


def _seed_anew() -> None:
    """Processes that are started one by one draw differently; Python's own generator sees to it itself."""
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    if torch := sys.modules.get("torch"):
        torch.default_generator.seed()
