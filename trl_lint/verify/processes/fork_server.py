"""The client of a process of the training environment that runs ranks in forks of itself.

The server is `rank/fork_server.py`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trl_lint.verify.processes import interrupts, launcher
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.rank import descendants
from trl_lint.verify.rank.job import Job
from trl_lint.verify.rank.supervisor import die_with_parent
from trl_lint.verify.record.traces import Run

_DIED = "the fork server has died"


class ForkServer:
    """A fork server, started at once; it imports in the background.

    launchers: the variables that differ between ranks and between runs.

    Raises:
        OSError: the interpreter can't be run.
    """

    def __init__(
        self, python: str, environment: Mapping[str, str], modules: Sequence[str], launchers: Iterable[str]
    ) -> None:
        self._process = subprocess.Popen(
            [python, "-u", str(launcher.RANK_PROGRAM), "fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        self._answers = b""
        self._send({"modules": list(modules), "launchers": sorted(launchers)})

    def request(self, job: Path, folder: Path, environments: Sequence[Mapping[str, str]]) -> None:
        """Ask whether ranks of a job can be run in forks: the next answer is the reason why not, "" if they can."""
        self._send({"job": str(job), "folder": str(folder), "environments": [dict(each) for each in environments]})

    def begin(self, *, accepted: bool) -> None:
        """Let it start the job, or cancel it; the end of each rank is an answer."""
        self._send(accepted)

    def answer(self) -> str | int | None:
        """The server's next answer; None if there is none yet."""
        assert self._process.stdout is not None  # a pipe
        while b"\n" not in self._answers:
            if not select.select([self._process.stdout], [], [], 0)[0]:
                return None
            got = os.read(self._process.stdout.fileno(), 65536)
            if not got:
                return _DIED
            self._answers += got
        line, _, self._answers = self._answers.partition(b"\n")
        answer: str | int = json.loads(line)
        return answer

    def stop(self) -> None:
        """Make its ranks end as torchrun would, with their stacks."""
        self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End it, and everything that it runs."""
        self._process.kill()
        with suppress(OSError):
            self._process.communicate()

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None  # a pipe
        with suppress(OSError):  # it has died, which the answer reports
            self._process.stdin.write(f"{json.dumps(message)}\n".encode())
            self._process.stdin.flush()


@dataclass
class ServerShare:
    """The ranks of a run that one server forks. ended: how many have ended; has_failed: whether any of them failed."""

    server: ForkServer
    environments: Sequence[Mapping[str, str]]
    ended: int = 0
    has_failed: bool = False

    def has_ended(self) -> bool:
        """Whether all of them have ended."""
        while self.ended < len(self.environments) and (answer := self.server.answer()) is not None:
            if answer == _DIED:
                self.ended = len(self.environments)
            else:
                self.ended += 1
            self.has_failed = self.has_failed or answer != 0
        return self.ended >= len(self.environments)


def run(launch: Launch, job: Job, shares: Sequence[ServerShare], folder: Path, *, plain: bool) -> Run | str:
    """Run a job in forks, as `launcher.run` does with a launcher; or return why that would not be the same.

    folder: the working directory.

    Raises:
        LaunchError: no rank has started.
        RunInterrupted: the command was asked to end.
    """
    file, watch = launcher.prepare(launch, job, plain=plain)
    for share in shares:
        share.server.request(file, folder, share.environments)
    with interrupts.deferred():
        if unfit := _unfit(shares):
            return unfit
        begun = time.monotonic()
        for share in shares:
            share.server.begin(accepted=True)
        over, before = _Over(shares), descendants.children(os.getpid())
        ended = launcher.wait(over, launch.limit, watch)
        if not over():
            over.stop()
            # The same time as for a launcher.
            launcher.wait(over, launcher.STOP_SECONDS)
        for share in shares:
            if not share.has_ended():
                share.server.close()
        descendants.end_children(before)
        return launcher.result_of(launch, job, ended, begun)


def _unfit(shares: Sequence[ServerShare]) -> str:
    """Why one of them can't run its ranks; then none starts."""
    unfit: dict[int, str] = {}

    def have_answered() -> bool:
        for number, share in enumerate(shares):
            if number not in unfit and (answer := share.server.answer()) is not None:
                unfit[number] = str(answer)
        return len(unfit) == len(shares)

    launcher.wait(have_answered, None)
    reason = next(filter(None, unfit.values()), "" if len(unfit) == len(shares) else "interrupted")
    if reason:
        for share in shares:
            share.server.begin(accepted=False)
    return reason


class _Over:
    """Whether a run is over; after the failure of a rank the others are stopped, as torchrun does."""

    def __init__(self, shares: Sequence[ServerShare]) -> None:
        self._shares = shares
        self._is_stopped = False

    def __call__(self) -> bool:
        is_over = all([share.has_ended() for share in self._shares])
        if not is_over and any(share.has_failed for share in self._shares):
            self.stop()
        return is_over

    def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            for share in self._shares:
                share.server.stop()
