"""The checks: what the harness should see on a machine with GPUs.

A GPU is used for what only a GPU can show: nccl's own messages and its recorder, CUDA tensors in gloo's collectives,
torch's own `nn.DataParallel`, and values that are rounded differently than on the CPU.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evaluation import stock_trainers
from evaluation.compared.cases import places
from evaluation.gpu.rows import TIME_UP, Row, not_run, softly
from trl_lint.verify.oracles import metrics, termination
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import fixtures, session
from trl_lint.verify.proof.session import BARE, Judged, Session, Start, Subject
from trl_lint.verify.rank.in_place_of_nccl import REFUSED

PROGRAMS = Path(__file__).with_name("programs")
# Seconds that ranks wait in vain, and seconds after which a run is stopped.
TIMEOUT, LIMIT = 15.0, 90.0
ONE_GPU = "one GPU"
NOT_ASKED = "not asked for"
# One of each kind of data, and one that generates; the slowest are the last.
TRAINERS = ("SFT", "DPO", "Reward", "GRPO")
PRECISIONS = ("fp32", "tf32", "bf16")


@dataclass(frozen=True)
class Bench:
    """Where the checks run.

    Attributes:
        gpus: How many GPUs this machine has.
        start: What starts a run.
        known: What was judged.
        end: The monotonic time after which no program is started.
        only: What the names of the checks that are run have in them.
    """

    folder: Path
    gpus: int
    start: Start = session.start
    known: dict[str, Judged] = field(default_factory=dict)
    end: float = math.inf
    only: str = ""

    def row(self, what: str, expected: str, look: Callable[[], tuple[str, bool]]) -> Row:
        """The row of a check, if somebody asks for it and there is time for it."""
        if self.only not in what:
            return not_run(what, expected, NOT_ASKED)
        return not_run(what, expected, TIME_UP) if time.monotonic() > self.end else softly(what, expected, look)

    def session(self, name: str, nproc: int, backend: str) -> Session:
        launch = Launch(sys.executable, nproc=nproc, backend=backend, timeout=TIMEOUT, limit=LIMIT)
        return Session(fixtures.launch_of(launch), self.folder / name, gpus=self.gpus, start=self.start)

    def judged(self, program: str, *args: str, nproc: int = 2, backend: str = "gloo") -> Judged:
        """Run and judge a program of this folder."""
        name = "-".join((program, *args, backend, str(nproc)))
        if name not in self.known:
            self.known[name] = self.session(name, nproc, backend).judge(subject(program, *args), "as it is")
        return self.known[name]


def subject(program: str, *args: str) -> Subject:
    return Subject(program, str(PROGRAMS / f"{program}.py"), PROGRAMS, args)


def checks(bench: Bench) -> Iterator[Row]:
    """All checks except the fixtures, as they are done."""
    yield from _nccl_of_one(bench)
    yield from _shared(bench)
    yield from _nccl_of_several(bench)
    yield from _data_parallel(bench)
    for precision in PRECISIONS:
        yield bench.row(
            f"a right program in {precision}, two processes and one, gloo",
            "no oracle fails: the tolerances fit",
            lambda precision=precision: precise(bench, precision),  # type: ignore[misc]
        )
    for trainer in TRAINERS:
        yield bench.row(
            f"trl's own trainer, {trainer}, gloo",
            "no oracle fails",
            lambda trainer=trainer: stock(bench, trainer),  # type: ignore[misc]
        )


def _nccl_of_one(bench: Bench) -> Iterator[Row]:
    yield bench.row("TRL011: a tensor on the CPU, nccl, one process", f"it raises `{REFUSED}`", lambda: _refused(bench))
    yield bench.row(
        "a right program, nccl, one process",
        "no oracle fails; all collectives are told as through",
        lambda: _one(bench),
    )
    yield bench.row("what C++ saw with nccl", "the recorder holds nccl's collectives", lambda: _recorded(bench))
    yield bench.row(
        "a group and a barrier bound to a GPU, nccl",
        "no oracle fails",
        lambda: passes(bench.judged("bound", nproc=1, backend="nccl")),
    )


def _refused(bench: Bench) -> tuple[str, bool]:
    (rank,) = bench.judged("cpu_tensor", nproc=1, backend="nccl").run.ranks
    said = rank.end.message if rank.end else f"exit {rank.exit}"
    return said, said.startswith(REFUSED)


def _one(bench: Bench) -> tuple[str, bool]:
    judged = bench.judged("right", "nccl", nproc=1, backend="nccl")
    seen, holds = passes(judged)
    (rank,) = judged.run.ranks
    return f"{seen}; {len(rank.done)} of {len(rank.calls)} through", holds and len(rank.done) == len(rank.calls) > 0


def _recorded(bench: Bench) -> tuple[str, bool]:
    (rank,) = bench.judged("right", "nccl", nproc=1, backend="nccl").run.ranks
    names = sorted({each.name for each in rank.native or ()})
    return f"{rank.native_total} in all, of DDP's own: {', '.join(names) or 'none'}", rank.native_total > 0


def _shared(bench: Bench) -> Iterator[Row]:
    """Two processes over gloo, with tensors on GPUs: if there is one GPU, they share it."""
    yield bench.row(
        "a right program, CUDA tensors, gloo", "no oracle fails", lambda: passes(bench.judged("right", "gloo"))
    )
    yield bench.row(
        "a hang, CUDA tensors, gloo",
        "told as one, with the line of each rank",
        lambda: hangs(bench.judged("hangs", "gloo")),
    )
    for program, what in (
        ("named", "GPUs named by LOCAL_RANK in every way"),
        ("gathers", "tensors as nccl takes and refuses them"),
        ("trainer", "a Trainer"),
    ):
        yield bench.row(
            f"{what}, gloo",
            "no oracle fails",
            lambda program=program: passes(bench.judged(program)),  # type: ignore[misc]
        )
    yield bench.row(
        "metrics of rank 0, CUDA tensors, gloo",
        f"*{metrics.ORACLE}* fails",
        lambda: fails(bench.judged("rank0_metrics"), metrics.ORACLE),
    )


def stock(bench: Bench, trainer: str) -> tuple[str, bool]:
    """An unchanged trainer of trl, as users start it, on GPUs."""
    program = Subject(f"stock-{trainer}", str(stock_trainers.SCRIPT), stock_trainers.SCRIPT.parent, (trainer, "--gpu"))
    runner = bench.session(program.name, 2, "gloo")
    return passes(runner.judge(program, "as it is", runner.one_process(program)))


def _nccl_of_several(bench: Bench) -> Iterator[Row]:
    rows = (
        (
            "a right program, nccl, two processes",
            "no oracle fails",
            lambda: passes(bench.judged("right", "nccl", backend="nccl")),
        ),
        (
            "a hang, nccl, two processes",
            "told as one, with the line of each rank",
            lambda: hangs(bench.judged("hangs", "nccl", backend="nccl")),
        ),
    )
    for what, expected, look in rows:
        yield bench.row(what, expected, look) if bench.gpus > 1 else not_run(what, expected, ONE_GPU)


def _data_parallel(bench: Bench) -> Iterator[Row]:
    for fixture in fixtures.fixtures():
        broken, _ = fixtures.subjects(fixture)
        if broken is None or broken.launcher != BARE:
            continue
        what, expected = f"torch's own `nn.DataParallel`: {fixture.name}", "it fails in its way, as emulated"
        if bench.gpus < 2:
            yield not_run(what, expected, ONE_GPU)
            continue
        yield bench.row(what, expected, lambda fixture=fixture: of_broken(bench, fixture))  # type: ignore[misc]


def backend_of(bench: Bench, fixture: fixtures.Fixture) -> str:
    """gloo, for which any GPU will do; nccl for programs that need one device per process, if there are enough."""
    return "nccl" if fixtures.expected_failures()[fixture.rule].needs_devices and bench.gpus > 1 else "gloo"


def of_broken(bench: Bench, fixture: fixtures.Fixture) -> tuple[str, bool]:
    """Whether a broken fixture fails in its way."""
    broken, fixed = fixtures.subjects(fixture)
    assert broken is not None  # only requested for broken ones
    runner = bench.session(fixture.name, 2, backend_of(bench, fixture))
    judged = runner.judge(broken, "broken", runner.one_process(fixed or broken))
    return failures(judged) or "nothing fails", fixtures.fails_as_expected(fixture, judged)


def precise(bench: Bench, precision: str) -> tuple[str, bool]:
    runner = bench.session(f"precision-{precision}", 2, "gloo")
    program = subject("precision", precision)
    judged = runner.judge(program, "as it is", runner.one_process(program))
    seen, holds = passes(judged)
    values = judged.verdict("true value")
    return f"{seen}; true value: {values.summary if values else 'not asked'}", holds


def passes(judged: Judged) -> tuple[str, bool]:
    """What failed, and whether nothing did."""
    devices = sorted({call.device for rank in judged.run.ranks for call in rank.calls if call.device})
    return failures(judged) or f"nothing fails; tensors on {', '.join(devices) or 'no device'}", judged.passed


def fails(judged: Judged, oracle: str) -> tuple[str, bool]:
    """What an oracle says, and whether it fails, while the run ends well."""
    verdict = judged.verdict(oracle)
    return failures(judged) or "nothing fails", bool(verdict and verdict.failed and judged.ended_well)


def hangs(judged: Judged) -> tuple[str, bool]:
    """Where the ranks wait, and whether that is reported as a hang, with the marked line of each."""
    end = judged.verdict(termination.ORACLE)
    seen = failures(judged) or "nothing fails"
    if end is None or end.kind != "hang":
        return seen, False
    wanted = places(PROGRAMS / "hangs.py", "waits").items()
    return seen, all(any(_names(each, rank, line) for each in end.evidence) for rank, line in wanted)


def _names(evidence: str, rank: int, line: int) -> bool:
    return evidence.startswith(f"rank {rank}:") and f"hangs.py:{line} " in evidence


def failures(judged: Judged) -> str:
    """What failed, with its evidence, in one line."""
    return "; ".join(
        f"{verdict.oracle}: {'; '.join((verdict.summary, *verdict.evidence))}"
        for verdict in judged.verdicts
        if verdict.failed
    )
