"""Which runs are forks of processes that have already imported the script's libraries (`rank/fork_server.py`).

The first run of several ranks is started by its launcher, as users do. It records which installed modules it has
imported, and which variables the launcher has set for each rank. Later runs are forks, each rank of its own server:
separate processes also differ in the order of their sets, and libraries may read the rank when they are imported. If a
fork would not be the same, the launcher starts that run as well.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from trl_lint.verify.processes import fork_server, launcher
from trl_lint.verify.processes.fork_server import ForkServer, ServerShare
from trl_lint.verify.processes.launcher import GROUP_VARIABLES, Launch
from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.traces import Run

# Elsewhere a fork is unsafe after the system's libraries have started, or does not exist.
HAS_FORKS = sys.platform == "linux"
# torchrun hosts the store for the rendezvous; without it rank 0 does, as without a launcher.
# Source: torch/distributed/rendezvous.py `_torchelastic_use_agent_store` of torch 2.13.0.
_STORE = {"TORCHELASTIC_USE_AGENT_STORE": "False"}
# Variables that differ between ranks and between runs, whatever starts them.
OF_GROUPS = frozenset({*GROUP_VARIABLES, *launcher.group_of_one(), *_STORE})


@dataclass
class _Learned:
    """The records of a first run. launchers: by the launcher's name and rank, the variables that it sets."""

    modules: tuple[str, ...] = ()
    launchers: dict[str, dict[int, dict[str, str]]] = field(default_factory=dict)

    def add(self, launch: Launch, run: Run) -> None:
        imported = [rank.imported for rank in run.ranks if rank.imported]
        if imported and len(run.ranks) == launch.nproc and not any(rank.accelerator for rank in run.ranks):
            self.modules = self.modules or max(imported, key=len)
            self.launchers[launch.launcher] = {rank.number: rank.variables for rank in run.ranks}


class ForkedRuns:
    """Starts the runs of a session: the first one by its launcher, others in forks if that is the same."""

    def __init__(self) -> None:
        self._learned = _Learned()
        self._servers: dict[int, ForkServer] = {}
        self._is_fit = HAS_FORKS

    def __call__(self, launch: Launch, job: Job, plain: bool) -> Run:
        """Run a job.

        Raises:
            LaunchError: no rank has started.
            RunInterrupted: the command was asked to end.
        """
        # Emulated GPUs change functions below torch's own classes, which has to happen before these are imported.
        can_fork = self._is_fit and not job.gpus and not launch.has_several_nodes
        if can_fork and self._learned.modules and (plain or launch.launcher in self._learned.launchers):
            done = fork_server.run(launch, job, self._shares(launch, plain), Path.cwd(), plain=plain)
            if isinstance(done, Run):
                return done
        run = launcher.run(launch, replace(job, records_imports=can_fork and not plain), plain=plain)
        if can_fork and not plain:
            self._learned.add(launch, run)
        return run

    def close(self) -> None:
        """End the servers."""
        for server in self._servers.values():
            server.close()

    def _shares(self, launch: Launch, plain: bool) -> list[ServerShare]:
        environment = launcher.environment_of(launch, plain=plain, emulated=False)
        if plain:
            return [ServerShare(self._server(0, launch), [environment])]
        meeting = {"MASTER_PORT": str(launcher.free_port()), **_STORE}
        ranks = self._learned.launchers[launch.launcher]
        return [
            ServerShare(self._server(rank, launch), [environment | own | meeting])
            for rank, own in sorted(ranks.items())
        ]

    def _server(self, rank: int, launch: Launch) -> ForkServer:
        """The server of a rank, which imports modules with that rank's variables."""
        if rank not in self._servers:
            own = next(iter(self._learned.launchers.values()))[rank]
            environment = {**launcher.environment_of(launch, plain=False, emulated=False), **own}
            launchers = OF_GROUPS.union(*self._names())
            self._servers[rank] = ForkServer(launch.python, environment, self._learned.modules, launchers)
        return self._servers[rank]

    def _names(self) -> Iterator[set[str]]:
        for ranks in self._learned.launchers.values():
            yield from (set(own) for own in ranks.values())


@contextmanager
def forked_runs() -> Iterator[ForkedRuns]:
    """Forked runs that leave no process behind."""
    runs = ForkedRuns()
    try:
        yield runs
    finally:
        runs.close()
