"""Runs jobs of the harness in forks of one process that has already imported the libraries.

torchrun imports them again in every rank, which takes seconds. `OneForkServer` replaces
`trl_lint.verify.proof.session.start`: unlike the product's `ForkedRuns` it starts no job by a launcher first, and forks
all ranks of a job from the same process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from trl_lint.verify.processes import fork_server, launcher
from trl_lint.verify.processes.fork_server import ForkServer, ServerShare
from trl_lint.verify.processes.forked_runs import OF_GROUPS
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.traces import Run

LIBRARIES = ("torch", "transformers", "accelerate", "datasets", "trl")
# Modules that nearly every program imports later.
LATER = (
    "multiprocessing.synchronize",
    "torch.profiler",
    "transformers.models.llama.modeling_llama",
    "transformers.trainer",
)
# trl imports its trainers on access.
TRAINERS = ("trl.trainer.sft_trainer", "trl.trainer.dpo_trainer", "trl.trainer.grpo_trainer")
IMPORTED = (*LIBRARIES, *LATER, *TRAINERS)
# Variables that the tests' programs read, but no library does.
OF_PROGRAMS = frozenset({"STEPS"})


class OneForkServer:
    """Starts the jobs of launches with the interpreter of `launch`, in its environment plus the variables of each."""

    def __init__(self, launch: Launch, folder: Path, names: Sequence[str] = IMPORTED) -> None:
        self.folder = folder
        # For jobs that are started in the usual way.
        self._run = launcher.run
        self.environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            **dict(launch.environment),
        }
        there = [name for name in names if find_spec(name.partition(".")[0])]
        self.server = ForkServer(launch.python, self.environment, there, OF_GROUPS | OF_PROGRAMS)

    def __call__(self, launch: Launch, job: Job, plain: bool = False, folder: Path | None = None) -> Run:
        """Run a job as `launcher.run` does, in a folder (by default the server's)."""
        if job.gpus:  # emulated GPUs replace what is below torch's own classes, before these are imported
            return self._run(launch, job, plain=plain)
        common = {**self.environment, **dict(launch.environment)}
        environments = [common] if plain else [common | each for each in _ranks(launch.nproc)]
        share = ServerShare(self.server, environments)
        done = fork_server.run(launch, job, [share], folder or self.folder, plain=plain)
        if isinstance(done, str):
            raise RuntimeError(done)
        return done

    def close(self) -> None:
        self.server.close()


def _ranks(count: int) -> list[dict[str, str]]:
    """The variables that define the process group for each of `count` processes."""
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(launcher.free_port())}
    group |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    return [{**group, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
