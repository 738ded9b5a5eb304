"""Starts a job: with a launcher on several processes, or as one plain process, and waits for its end.

The number of machines, their rendezvous and the number of this one are handled by torchrun, which gets these options
unchanged.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from trl_lint.verify.processes import interrupts
from trl_lint.verify.processes.interrupts import RunInterrupted
from trl_lint.verify.processes.watching import Watch
from trl_lint.verify.rank import descendants
from trl_lint.verify.rank.call_stack import UserFiles
from trl_lint.verify.rank.job import Job
from trl_lint.verify.rank.supervisor import die_with_parent
from trl_lint.verify.record.trace_files import last_line
from trl_lint.verify.record.traces import Run, read_run
from trl_lint.verify.record.verdicts import INTERRUPTED

# Below the ephemeral ports of systems: from 32768 on (Linux), or from 49152 on.
PORTS = (15000, 32000)
RANK_PROGRAM = Path(__file__).parents[1] / "rank"
POLL_SECONDS = 0.05
# Seconds for torchrun to stop its ranks.
STOP_SECONDS = 30
# Seconds to wait for the traces of other machines in a shared folder.
SHARED_SECONDS = 5
VISIBLE = "CUDA_VISIBLE_DEVICES"
# Variables that mark a process as a member of a group: a plain process must not inherit them.
GROUP_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True, slots=True)
class Launch:
    """How a script is started.

    Attributes:
        python: The interpreter of the training environment.
        launcher: What starts the processes, a name of `LAUNCHERS`.
        nproc: The number of processes on this machine.
        timeout: Seconds that ranks wait in a collective for idle ones (`watching.py`), or, if that is not visible from
            here, for any other.
        limit: Seconds after which a whole run is stopped, None for never.
        nnodes, rdzv_endpoint, rdzv_backend, node_rank: Options of torchrun.
        environment: Additional variables.
        gpus: The number of GPUs that a plain process may see.
    """

    python: str
    launcher: str = "torchrun"
    nproc: int = 2
    backend: str = "auto"
    timeout: float = 300.0
    limit: float | None = None
    nnodes: str | None = None
    rdzv_endpoint: str | None = None
    rdzv_backend: str | None = None
    node_rank: int | None = None
    environment: tuple[tuple[str, str], ...] = ()
    gpus: int = 1

    @property
    def has_several_nodes(self) -> bool:
        return self.nnodes not in (None, "1", "1:1")

    @property
    def world_size(self) -> int:
        """The number of all processes, as far as that is fixed in advance."""
        return self.nproc * (int(self.nnodes) if self.nnodes and self.nnodes.isdecimal() else 1)

    def with_environment(self, **variables: str) -> Launch:
        return replace(self, environment=(*self.environment, *variables.items()))


@dataclass(slots=True)
class Ended:
    """How a run ended.

    Attributes:
        stopped: Why it was stopped, or "".
        stuck: Whether its ranks were stuck.
        output: The output of the launcher.
    """

    stopped: str = ""
    stuck: bool = False
    output: str = ""


class LaunchError(Exception):
    """The launcher itself failed: no rank has started."""


def run(launch: Launch, job: Job, *, plain: bool = False, tick: Callable[[], None] = lambda: None) -> Run:
    """Run a job to its end and read what its ranks wrote. `plain`: one process without a launcher.

    Raises:
        LaunchError: no rank has started.
        RunInterrupted: the command was asked to end.
    """
    file, watch = prepare(launch, job, plain=plain)
    command = [launch.python, str(RANK_PROGRAM), str(file)] if plain else LAUNCHERS[launch.launcher](launch, file)
    begun = time.monotonic()
    with interrupts.deferred():
        try:
            environment = environment_of(launch, plain=plain, emulated=_is_emulated(job))
            ended = _run(command, environment, launch.limit, file.with_name("launcher.out"), tick, watch)
        except OSError as error:
            raise LaunchError(f"{launch.python}: {error.strerror or error}") from error
        return result_of(launch, job, ended, begun)


def prepare(launch: Launch, job: Job, *, plain: bool) -> tuple[Path, Watch | None]:
    """The job file for the ranks, in a folder without traces, and the watch of the run."""
    folder = Path(job.traces)
    folder.mkdir(parents=True, exist_ok=True)
    if not launch.has_several_nodes:  # otherwise the folder may be shared, and another machine may have started
        for old in folder.glob("rank*"):
            old.unlink()
    watch = None if plain or launch.has_several_nodes else Watch(job, launch.nproc, launch.timeout)
    launcher_variables = (
        tuple(environment_of(launch, plain=plain, emulated=_is_emulated(job))) if job.records_imports else ()
    )
    job_of_run = replace(
        job,
        timeout=launch.timeout,
        backend=launch.backend,
        guarded=watch is not None,
        launcher_variables=launcher_variables,
    )
    job_of_run.save(folder / "job.json")
    return folder / "job.json", watch


def result_of(launch: Launch, job: Job, ended: Ended, begun: float) -> Run:
    """The result of a run.

    Raises:
        LaunchError: no rank has started.
        RunInterrupted: the command was asked to end.
    """
    result = _read(launch, Path(job.traces), job.user_files)
    result.seconds = time.monotonic() - begun
    result.stopped, result.stuck = ended.stopped, ended.stuck
    if number := interrupts.received():
        result.stopped = INTERRUPTED
        raise RunInterrupted(number, result if result.ranks else None)
    if not result.ranks:
        raise LaunchError(last_line(ended.output) or "the launcher said nothing")
    return result


def _read(launch: Launch, folder: Path, user_files: UserFiles) -> Run:
    """Read what the ranks wrote; with several machines that share the folder, wait a little for all of them."""
    end = time.monotonic() + (SHARED_SECONDS if launch.has_several_nodes else 0)
    while True:
        result = read_run(folder, user_files)
        known = sum(rank.exit is not None for rank in result.ranks)
        if known >= result.world_size or time.monotonic() > end:
            return result
        time.sleep(POLL_SECONDS)


def torchrun(launch: Launch, job: Path) -> list[str]:
    """The command line of torchrun; `python -m` runs the one of this interpreter."""
    values = {
        "--nnodes": launch.nnodes,
        "--rdzv-endpoint": launch.rdzv_endpoint,
        "--rdzv-backend": launch.rdzv_backend,
        "--node-rank": launch.node_rank,
    }
    options = [f"{name}={value}" for name, value in values.items() if value is not None]
    own_rendezvous = ["--master-addr=127.0.0.1", f"--master-port={free_port()}"]
    rendezvous = [] if launch.rdzv_endpoint or launch.has_several_nodes else own_rendezvous
    common = [f"--nproc-per-node={launch.nproc}", "--max-restarts=0"]
    return [launch.python, "-m", "torch.distributed.run", *common, *rendezvous, *options, str(RANK_PROGRAM), str(job)]


def accelerate(launch: Launch, job: Path) -> list[str]:
    """The command line of `accelerate launch`, with all options that it would otherwise read from a configuration file.

    `--multi_gpu` starts this number of processes on the CPU as well; `--cpu` starts one (accelerate/utils/launch.py,
    1.6.0).
    """
    options = {
        "--num_processes": str(launch.nproc),
        "--num_machines": "1",
        "--mixed_precision": "no",
        "--dynamo_backend": "no",
        "--main_process_port": str(free_port()),
    }
    words = [word for option in options.items() for word in option]
    return [launch.python, "-m", "accelerate.commands.launch", "--multi_gpu", *words, str(RANK_PROGRAM), str(job)]


LAUNCHERS = {"torchrun": torchrun, "accelerate": accelerate}


def free_port() -> int:
    """A free port for this run, as several runs may be active at the same time.

    Not one of the ephemeral ports: before the first rank listens, any connection may take one of these.
    """
    while True:
        port = random.randrange(*PORTS)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def group_of_one() -> dict[str, str]:
    """The variables that `torchrun --nproc-per-node 1` sets for its one process."""
    return {
        **dict.fromkeys(("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK"), "0"),
        **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"), "1"),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }


def _is_emulated(job: Job) -> bool:
    """Whether GPUs, or a separate device for each process, are emulated: then real ones must not be visible."""
    return job.gpus > 0 or job.devices


def environment_of(launch: Launch, *, plain: bool, emulated: bool) -> dict[str, str]:
    """The variables of a launcher, or of a plain process."""
    kept = {name: value for name, value in os.environ.items() if name not in GROUP_VARIABLES}
    environment = {"OMP_NUM_THREADS": "1", **kept, **dict(launch.environment)}
    if emulated:  # with real GPUs the model would be placed on one of these
        environment[VISIBLE] = ""
    elif plain:  # if it saw several GPUs, Trainer would wrap the model in DataParallel
        named = environment.get(VISIBLE, ",".join(map(str, range(launch.gpus)))).split(",")
        environment[VISIBLE] = ",".join(named[: launch.gpus])
    return environment


def _run(
    command: list[str],
    environment: dict[str, str],
    limit: float | None,
    log: Path,
    tick: Callable[[], None],
    watch: Watch | None,
) -> Ended:
    before = descendants.children(os.getpid())
    with (
        log.open("w+") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,
        ) as process,
    ):
        try:
            ended = wait(lambda: process.poll() is not None, limit, watch, tick)
        finally:
            _stop(process)
            descendants.end_children(before)
        output.seek(0)
        ended.output = output.read()
        return ended


def wait(
    is_over: Callable[[], bool],
    limit: float | None,
    watch: Watch | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Ended:
    """Wait until a run is over, or has to be stopped: at its limit, because its ranks are stuck, or by a signal."""
    end = None if limit is None else time.monotonic() + limit
    while not is_over():
        if interrupts.received():
            return Ended(INTERRUPTED)
        if end is not None and time.monotonic() > end:
            return Ended(f"stopped after {limit:g} s")
        if watch is not None and watch.is_stuck():
            return Ended(stuck=True)
        tick()
        time.sleep(POLL_SECONDS)
    return Ended()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the launcher, which ends its ranks; if it is killed, they end with it, but leave no stacks."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
        return
    process.kill()
