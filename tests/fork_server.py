"""Runs jobs of the harness in forks of one process that has imported the libraries already.

torchrun imports them anew in every rank, which takes seconds. As a program (`fork_server.py RANK_FOLDER`) it reads a
request per line and answers when all ranks of that job have ended; `ForkServer` starts it and stands in for
`trl_lint.verify.proof.session.start`. What a rank does in its fork is what it does under torchrun
(`rank/supervisor.py`).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import re
import runpy
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

LIBRARIES = ("torch", "transformers", "accelerate", "datasets", "trl")
# What nearly every program imports later on.
LATER = (
    "multiprocessing.synchronize",
    "torch.profiler",
    "transformers.models.llama.modeling_llama",
    "transformers.trainer",
)
# trl imports its trainers when they are asked for.
TRAINERS = ("trl.trainer.sft_trainer", "trl.trainer.dpo_trainer", "trl.trainer.grpo_trainer")
IMPORTED = (*LIBRARIES, *LATER, *TRAINERS)
# Memory of no file, in the words of /proc; what it is asked to become (Linux 6.1 on; others refuse).
ANONYMOUS = re.compile(r"(\w+)-(\w+) rw-p \S+ \S+ 0\s*(?:\[heap\])?$")
HUGE, COLLAPSE = 2 << 20, 25
# Seconds after which a job is stopped: no test waits longer.
LIMIT_SECONDS = 900


class ForkServer:
    """Starts the jobs of launches with the interpreter of `launch`, in its environment with what each sets."""

    def __init__(self, launch: Any, folder: Path, names: Sequence[str] = IMPORTED) -> None:
        from trl_lint.verify.processes import launcher

        self.folder = folder
        # Started in the usual way.
        self._run = launcher.run
        self.process = subprocess.Popen(
            [launch.python, __file__, str(launcher.RANK_PROGRAM), *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **dict(launch.environment)},
        )

    def __call__(self, launch: Any, job: Any, plain: bool = False, folder: Path | None = None) -> Any:
        """Run a job as `launcher.run` does, in a folder (that of the server by default)."""
        from trl_lint.verify.processes import launcher
        from trl_lint.verify.record.traces import read_run

        if job.gpus:  # emulated GPUs change what lies below torch's own classes: before anybody has imported it
            return self._run(launch, job, plain=plain)
        start_in = str(folder or self.folder)
        folder = Path(job.traces)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "job.json"
        watch = None if plain else launcher.watch_of(launch, job)
        launcher.asked(launch, job, watch).save(file)
        begun = time.monotonic()
        common = dict(launch.environment)
        ranks = [{}] if plain else _ranks(launch.nproc, launcher.free_port())
        request = [str(file), start_in, [common | rank for rank in ranks]]
        print(json.dumps(request), file=self.process.stdin, flush=True)
        stuck = self._wait(watch)
        run = read_run(folder, job.user_files)
        run.stuck = stuck
        run.seconds = time.monotonic() - begun
        return run

    def _wait(self, watch: Any) -> bool:
        """Wait for the end of a job; whether it was stopped as its ranks were stuck."""
        stuck = False
        while not select.select([self.process.stdout], [], [], 0.05)[0]:
            if not stuck and watch is not None and watch.is_stuck():
                stuck = True
                self.process.send_signal(signal.SIGALRM)
        assert self.process.stdout.readline() == "done\n"
        return stuck

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def serve(rank_folder: str, names: Sequence[str]) -> None:
    """Answer requests until there are no more."""
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a rank that collects its garbage would copy all that it shares with the others
    collapse()
    supervisor = runpy.run_path(os.path.join(rank_folder, "__main__.py"))["load"]()
    program = supervisor.program
    program.imports.install = _in_place(program.imports.install, program.patches)
    for line in sys.stdin:
        file, folder, ranks = json.loads(line)
        _see_that_texts_are_run(json.loads(Path(file).read_text()))
        _wait([_fork(supervisor, file, folder, variables) for variables in ranks])
        print("done", flush=True)


def collapse() -> None:
    """Have the memory of this process in huge pages, where the system can: a fork copies the table of its pages."""
    with contextlib.suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for line in Path("/proc/self/maps").read_text().splitlines():
            if found := ANONYMOUS.match(line):
                start, end = (int(each, 16) for each in found.groups())
                start, end = -(-start // HUGE) * HUGE, end // HUGE * HUGE
                if start < end:
                    advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), COLLAPSE)


def _see_that_texts_are_run(job: Mapping[str, Any]) -> None:
    """What has been imported already can't be loaded from another text any more."""
    imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    early = imported & {*job["sources"]}
    if early:
        raise RuntimeError(f"imported before it could be replaced: {', '.join(early)}")


def _ranks(count: int, port: int) -> list[dict[str, str]]:
    """The variables by which each of so many processes knows its group."""
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    group |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    return [{**group, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]


def _fork(supervisor: Any, file: str, folder: str, variables: Mapping[str, str]) -> int:
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(variables)
        if "RANK" in variables:
            _seed_anew()
        supervisor.main(file)
    return child


def _seed_anew() -> None:
    """Ranks that are started one by one have random numbers of their own; Python's own generator sees to it itself."""
    for name, seed in (("numpy", lambda numpy: numpy.random.seed()), ("torch", lambda torch: torch.seed())):
        if name in sys.modules:
            seed(sys.modules[name])


def _wait(children: list[int]) -> None:
    """Wait for all ranks, and stop the others once one has failed, as torchrun does."""

    def stop(*_: Any) -> None:
        for child in children:
            os.kill(child, signal.SIGTERM)

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_SECONDS)
    told = False
    while children:
        child, status = os.wait()
        children.remove(child)
        if status and not told:
            told = True
            stop()
    signal.alarm(0)


def _in_place(install: Callable[..., Any], patches: Callable[..., Mapping[str, Any]]) -> Callable[..., Any]:
    """`imports.install` for modules that are imported already, and for what others have copied out of them."""
    nothing = importlib.import_module(f"{install.__module__.rpartition('.')[0]}.job").Job("", (), "", "")
    patched = [sys.modules[name] for name in patches(nothing) if name in sys.modules]
    known = {id(value) for module in patched for value in vars(module).values() if callable(value)}
    copies: dict[int, list[tuple[Any, str]]] = {}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in known:
                copies.setdefault(id(value), []).append((module, name))

    def installed(patches: Mapping[str, Any]) -> Any:
        for name, patch in patches.items():
            if module := sys.modules.get(name):
                before = dict(vars(module))
                patch(module)
                for attribute, value in before.items():
                    if vars(module)[attribute] is not value:
                        for owner, copied in copies.get(id(value), ()):
                            setattr(owner, copied, vars(module)[attribute])
        return install(patches)

    return installed


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
