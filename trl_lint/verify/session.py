"""One subject from start to end: run it, run it again where an oracle asks for that, and judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trl_lint.verify import launcher
from trl_lint.verify.launcher import Launch
from trl_lint.verify.oracles import ends, metrics, sequence, training, true_value
from trl_lint.verify.rank.job import Job
from trl_lint.verify.traces import Run
from trl_lint.verify.verdicts import Verdict

# Ends after which it is a finding that a rank ran fewer collectives than the others.
WAITING = ("hang", "left early")
Start = Callable[[Launch, Job, bool], Run]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to be run. `sources`: by file, the text that runs in its place."""

    name: str
    script: str
    root: Path
    args: tuple[str, ...] = ()
    is_module: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Judged:
    """A run and what the oracles say of it."""

    label: str
    run: Run
    verdicts: list[Verdict]

    @property
    def passed(self) -> bool:
        return not any(verdict.failed for verdict in self.verdicts)

    @property
    def ended_well(self) -> bool:
        return bool(self.run.ranks) and all(rank.ended_well for rank in self.run.ranks)

    def verdict(self, oracle: str) -> Verdict | None:
        return next((verdict for verdict in self.verdicts if verdict.oracle == oracle), None)


def start(launch: Launch, job: Job, plain: bool) -> Run:
    """Under torchrun, as users do, or as a plain process."""
    return launcher.run(launch, job, plain=plain)


class Session:
    """Runs subjects of one launch; keeps the traces below `folder`."""

    def __init__(self, launch: Launch, folder: Path, *, start: Start = start, tell: Tell = lambda text: None) -> None:
        self.launch = launch
        self.folder = folder
        self._start = start
        self._tell = tell
        self._count = 0

    def judge(self, subject: Subject, label: str, single: Run | None = None) -> Judged:
        """Run a subject on all ranks and judge it.

        single: the same program as one process with the same global batch.

        Raises:
            LaunchError: no rank has started.
        """
        run = self._run(subject, label)
        end = ends.judge(run)
        moved = None
        if not end.failed and self._can_move(run) and metrics.one_sided(run):
            moved = self._run(subject, f"{label}, shares moved", shift=1)
        verdicts = [
            end,
            sequence.judge(run, cut_short=end.failed and end.way not in WAITING),
            metrics.judge(run, moved),
            true_value.judge(run, single),
            training.judge_ranks(run),
        ]
        return Judged(label, run, verdicts)

    def _can_move(self, run: Run) -> bool:
        """Whether a run with moved shares can be had: the other machines can't know that it is wanted."""
        return len(run.ranks) > 1 and not self.launch.has_several_nodes

    def single(self, subject: Subject) -> Run:
        """The subject as one plain process that reads what all ranks together would read."""
        return self._run(subject, "one process", plain=True, scale=self.launch.world_size)

    def _run(self, subject: Subject, label: str, *, plain: bool = False, shift: int = 0, scale: int = 1) -> Run:
        self._tell(f"{subject.name}: {label}")
        self._count += 1
        name = "-".join(re.findall(r"\w+", f"{self._count:02} {subject.name} {label}"))
        job = Job(
            script=subject.script,
            args=tuple(subject.args),
            traces=str(self.folder / name),
            root=str(subject.root),
            is_module=subject.is_module,
            sources=dict(subject.sources),
            shift=shift,
            scale=scale,
        )
        return self._start(self.launch, job, plain)


def compare(before: Judged, after: Judged) -> Verdict:
    """Whether the fixed program trains what the other one trained."""
    return training.judge_pair(before.run, after.run)


def fixed(subject: Subject, sources: Mapping[str, str]) -> Subject:
    """The same program with its files' texts mended."""
    return replace(subject, sources=dict(sources))
