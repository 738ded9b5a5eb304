"""The session of one command: how its runs are started, where traces go, what a terminal shows, and interrupts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trl_lint.verify.processes.forked_runs import forked_runs
from trl_lint.verify.processes.interrupts import RunInterrupted
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof.proofs import Proof, ProofInterrupted, trace_folder
from trl_lint.verify.proof.session import Session, Start, start


@contextmanager
def session(
    launch: Launch, keep: Path | None, *, gpus: int, subjects: int, forks: bool, tidies: bool
) -> Iterator[Session]:
    """A session for a number of subjects.

    Args:
        launch: How their scripts are started.
        keep: Where its traces are kept.
        gpus: The number of GPUs on this machine.
        subjects: The number of subjects.
        forks: Whether runs may be forks (`forked_runs.py`).
        tidies: Whether new files of runs are removed (`leftovers.py`).

    Raises:
        LaunchError: there is no place for traces.
    """
    with trace_folder(keep) as folder, _progress(subjects) as tell, _starter(forks) as starter:
        yield Session(launch, folder, gpus=gpus, start=starter, tell=tell, tidies=tidies, keeps=keep is not None)


@contextmanager
def _starter(forks: bool) -> Iterator[Start]:
    """The function that starts the runs of a session."""
    if not forks:
        yield start
        return
    with forked_runs() as runs:
        yield runs


@contextmanager
def _progress(subjects: int) -> Iterator[Callable[[str], None]]:
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        seen: dict[str, int] = {}

        def tell(text: str) -> None:
            seen.setdefault(text.partition(":")[0], len(seen) + 1)
            status.update(f"running {text}" + (f" ({len(seen)} programs so far)" if subjects > 1 else ""))

        yield tell


def until_interrupted(proofs: Iterator[Proof], broken_off: list[RunInterrupted]) -> Iterator[Proof]:
    """All proofs, or those until an interrupt, which is added to `broken_off`, with what is known of the last one."""
    try:
        yield from proofs
    except RunInterrupted as error:
        broken_off.append(error)
        if isinstance(error, ProofInterrupted):
            yield error.proof
