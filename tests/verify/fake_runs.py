"""Invented runs: a session's `start` that returns what a test has written down, by the run's label."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof.proofs import Proof
from trl_lint.verify.proof.session import Session
from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.executed import Executed, MarkedFile, Ran
from trl_lint.verify.record.statements import Statements
from trl_lint.verify.record.traces import Call, End, Log, RankRecord, Run, SourcePlace
from trl_lint.verify.reports import load

SCRIPT = "/p/train.py"
# A script with a statement in each line.
TEXT = Path(__file__).with_name("lines.txt")


def lines(reached: tuple[int, ...], calls: int = 0) -> Executed:
    """The record of a rank that has reached these lines of the script, after `calls` collectives."""
    statements = [Ran(SCRIPT, line - 1) for line in reached]
    file = MarkedFile(SCRIPT, str(TEXT), 1, len(TEXT.read_text().splitlines()))
    return Executed({SCRIPT: file}, dict.fromkeys(statements, 1), dict.fromkeys(statements, calls))


def everything(paths: Iterable[Path]) -> Executed:
    """The record of a rank that has reached each statement of these files, before any collective."""
    counts = {str(path): len(Statements(path.read_bytes()).all) for path in paths}
    files = {path: MarkedFile(path, path, 1, count) for path, count in counts.items()}
    ran = [Ran(path, number) for path, count in counts.items() for number in range(count)]
    return Executed(files, dict.fromkeys(ran, 1), dict.fromkeys(ran, 0))


def well(number: int = 0, *, world_size: int = 2, reached: tuple[int, ...] = ()) -> RankRecord:
    """A rank that ran to its end, through these lines."""
    end = End(2.0, 0)
    return RankRecord(number, world_size=world_size, end=end, exit=0, executed=lines(reached))


def failed(
    number: int, line: int, said: str = "no file", *, reached: tuple[int, ...] = (), calls: int = 0
) -> RankRecord:
    """A rank that an exception has ended at a line of the script, after `calls` collectives, having reached these
    lines.
    """
    end = End(1.0, 1, "OSError", said, at=(SourcePlace(SCRIPT, line, "<module>"),))
    rank = RankRecord(number, world_size=2, end=end, exit=1, executed=lines(reached, calls))
    rank.calls = [Call(each, "barrier", None, "", None, None, None, ()) for each in range(calls)]
    rank.done = set(range(calls))
    return rank


@dataclass
class Runs:
    """A `start`. Each label's runs are taken in order, the last one repeatedly; `asked` has the labels so far."""

    runs: dict[str, list[list[RankRecord]]]
    asked: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)

    def __call__(self, launch: Launch, job: Job, plain: bool) -> Run:
        label = Path(job.traces).name.partition("-train-py-")[2].replace("-", " ")
        self.asked.append(label)
        self.jobs.append(job)
        self.launches.append(launch)
        waiting = self.runs[label]
        return Run(waiting.pop(0) if len(waiting) > 1 else waiting[0], seconds=1.0)


def logging(values: list[list[float]], name: str = "rewards/accuracies") -> list[RankRecord]:
    """Ranks that log a metric: by step, the values of all of them."""
    ranks = [well(number, world_size=len(values[0])) for number in range(len(values[0]))]
    for rank in ranks:
        rank.logs = [Log("Trainer.log", {name: row[rank.number]}, ()) for row in values]
    return ranks


def session(folder: Path, start: Callable[..., Run]) -> Session:
    return Session(Launch("python"), folder, start=start)


def printed(name: str, proof: Proof, command: str | None = None) -> str:
    """A proof of a run on two processes, in the format of this name. command: what the report recommends."""
    if command is not None:
        proof.command = command
    out = io.StringIO()
    report = load(name)(out, nproc=2)
    report.add(proof)
    report.close()
    return out.getvalue()
