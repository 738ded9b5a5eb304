"""A proof: the results of one subject, unchanged and fixed, side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from trl_lint.findings import Finding
from trl_lint.launch.checker import JudgedLaunch
from trl_lint.launch.training.trainers import Trainers
from trl_lint.linter.files.discovery import import_roots
from trl_lint.settings import Settings
from trl_lint.verify.oracles import termination
from trl_lint.verify.processes.interrupts import RunInterrupted
from trl_lint.verify.processes.launcher import LaunchError
from trl_lint.verify.proof import cause, fixtures, launches, mending, per_finding, session
from trl_lint.verify.proof.fixtures import Fixture
from trl_lint.verify.proof.mending import FixedCopy
from trl_lint.verify.proof.per_finding import FindingOutcome, FindingVerdict
from trl_lint.verify.proof.session import BARE, Judged, OneProcess, Session, Subject
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Verdict


@dataclass
class Column:
    """One run of a subject.

    Attributes:
        holds: Whether the result is as expected.
        wanted: The expected failure, if it should not pass.
        is_bare: Whether it was one process with several GPUs.
    """

    judged: Judged
    holds: bool
    wanted: str = ""
    is_bare: bool = False


@dataclass
class Proof:
    """One subject.

    Attributes:
        compared: Whether the fix changes what is trained, if both were run.
        alone: How it ends on one process, if it fails there as on several, so that nothing more was run.
        shown: If it fails unchanged and passes when fixed, whether that is due to the fix.
        to_fix: The files to pass to `trl-lint --fix` for the same fixes.
        command: That call, with its options.
        is_fixture: Whether it has an expected result, unlike a user's own program.
        single: The run on one process, made on first use.
        is_interrupted: Whether it was interrupted.
        findings: The verdicts on each finding, if the script was run.
    """

    name: str
    columns: list[Column]
    compared: Verdict | None = None
    fixes: list[Finding] = field(default_factory=list)
    hints: list[Finding] = field(default_factory=list)
    withheld: list[tuple[Finding, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    alone: Verdict | None = None
    shown: Verdict | None = None
    to_fix: list[Path] = field(default_factory=list)
    command: str = ""
    is_fixture: bool = False
    single: OneProcess | None = None
    is_interrupted: bool = False
    findings: list[FindingVerdict] = field(default_factory=list)

    @property
    def not_reached(self) -> int:
        """The number of findings that no rank has reached."""
        return sum(each.outcome is FindingOutcome.NOT_REACHED for each in self.findings)

    @property
    def holds(self) -> bool:
        if self.alone is not None or self.is_interrupted:
            return False
        return all(column.holds for column in self.columns) and not (self.compared and self.compared.failed)

    @property
    def runs(self) -> list[Run]:
        return [column.judged.run for column in self.columns]


class ProofInterrupted(RunInterrupted):
    """The command was asked to end. proof: what is known of a subject by then."""

    def __init__(self, number: int, proof: Proof) -> None:
        super().__init__(number)
        self.proof = proof


@contextmanager
def _interruptible(proof: Proof, runner: Session) -> Iterator[None]:
    """Make an interrupt report what is known of a subject.

    Raises:
        ProofInterrupted: the command was asked to end.
    """
    try:
        yield
    except RunInterrupted as error:
        proof.is_interrupted = True
        if runner.partial is not None:
            proof.columns.append(Column(runner.partial, holds=False))
        if not proof.columns:
            raise
        raise ProofInterrupted(error.number, proof) from None


@contextmanager
def trace_folder(keep: Path | None) -> Iterator[Path]:
    """The folder for traces: one that is kept, or a temporary one.

    Raises:
        LaunchError: it can't be created.
    """
    if keep is not None:
        try:
            keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LaunchError(f"{keep}: cannot write: {error.strerror}") from None
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="trl-lint-verify-") as folder:
        yield Path(folder)


def of_script(
    subject: Subject, runner: Session, settings: Settings, include: Sequence[Path], *, one_process: bool, bare: bool
) -> Proof:
    """Run a script unchanged and, if its findings have fixes, fixed.

    bare: first as one process that sees several GPUs, as plain `python` would start it.

    Raises:
        LaunchError: no rank has started.
    """
    files = _files(subject, settings, include)
    copy = mending.write_fixed_copy(files, settings, runner.folder / "fixed", dict(subject.sources))
    subject = replace(subject, program_files=tuple(files))
    proof = Proof(subject.name, [], fixes=copy.applied, withheld=copy.withheld, problems=copy.problems)
    proof.single = runner.one_process(subject) if one_process else None
    proof.hints = [finding for finding in copy.findings if finding not in copy.applied]
    with _interruptible(proof, runner):
        _run_script(proof, subject, runner, copy, bare=bare)
    if proof.compared is not None:
        proof.to_fix = mending.files_to_fix(copy, files, include, settings, runner.folder / "named")
    return proof


def _run_script(proof: Proof, subject: Subject, runner: Session, copy: FixedCopy, *, bare: bool) -> None:
    """Run a script unchanged and fixed, as far as that is useful. bare: as plain `python` would start it first."""
    single, one_process = proof.single, proof.single is not None
    if bare:
        proof.columns.append(_column(runner, subject, BARE, single))
        proof.alone = _end_on_one_process(runner, replace(subject, launcher=BARE), proof, one_process)
    if proof.alone is not None:
        return
    before = runner.judge(subject, "as it is", single)
    proof.columns.append(Column(before, before.passed))
    proof.alone = _end_on_one_process(runner, subject, proof, one_process)
    if proof.alone is not None:
        return
    after = _fixed(subject, runner, copy, proof) if copy.applied else None
    runs = per_finding.BothRuns(before, after, copy.sources, proof.shown, list(subject.program_files))
    proof.findings = per_finding.verdicts(runs, proof.fixes, proof.hints)


def _fixed(subject: Subject, runner: Session, copy: FixedCopy, proof: Proof) -> Judged:
    """Run the fixed copy and compare it with the unchanged program.

    Raises:
        LaunchError: no rank has started.
    """
    before, single = proof.columns[-1].judged, proof.single
    after = runner.judge(session.fixed(subject, copy.sources), "fixed", single)
    proof.columns.append(Column(after, after.passed))
    if cause.is_fixed(before, after):
        proof.shown = cause.evidence_for_fixes(runner, subject, before, copy.applied, single)
    runner.partial = None
    proof.compared = runner.compare(subject, before, after)
    return after


def _end_on_one_process(runner: Session, subject: Subject, proof: Proof, wanted: bool) -> Verdict | None:
    """How the subject ends on one process, if its last run failed and it fails there in the same way.

    None if it fails in the lines of a fix: then the fixed copy is more informative.
    """
    judged = proof.columns[-1].judged
    (end,) = (verdict for verdict in judged.verdicts if verdict.oracle == termination.ORACLE)
    if not wanted or not end.failed or cause.is_at(judged.run, end, proof.fixes):
        return None
    return runner.end_on_one_process(subject, end)


def of_launch(launch: JudgedLaunch, settings: Settings, runner: Session, *, one_process: bool) -> Proof:
    """A launch with bare python: on several GPUs, and started with `accelerate launch` instead.

    Raises:
        LaunchError: it can't be run, or no rank has started.
    """
    subject = launches.subject(launch, settings)
    single = runner.one_process(subject) if one_process else None
    proof = Proof(subject.name, [])
    with _interruptible(proof, runner):
        proof.columns.append(_column(runner, subject, BARE, single))
        proof.alone = _end_on_one_process(runner, subject, proof, one_process)
        if proof.alone is None:
            proof.columns.append(_column(runner, subject, "accelerate", single))
    (proof.fixes if launch.edits is not None else proof.hints).append(launch.finding)
    return proof


def _column(runner: Session, subject: Subject, launcher: str, single: OneProcess | None) -> Column:
    """Run a program, started as in a launch file, or as it should be."""
    gpus = f"{runner.launch.nproc} {'emulated ' if runner.emulates else ''}GPUs"
    label = f"bare python, {gpus}" if launcher == BARE else f"{launcher} launch"
    judged = runner.judge(replace(subject, launcher=launcher), label, single)
    return Column(judged, judged.passed, is_bare=launcher == BARE)


def _files(subject: Subject, settings: Settings, include: Sequence[Path]) -> list[Path]:
    """The program's own files, and what the user names in addition."""
    roots = import_roots(settings.root, [subject.root])
    script = Trainers(roots).module(subject.script, roots) if subject.is_module else Path(subject.script)
    return mending.files_of(script, roots, include) if script else mending.files_in(include)


def of_fixture(fixture: Fixture, runner: Session) -> Proof:
    """A fixture: the broken program fails in its rule's way, the fixed one and a correct one pass.

    Raises:
        LaunchError: no rank has started.
    """
    proof = Proof(fixture.name, [], is_fixture=True)
    broken, fixed = fixtures.subjects(fixture)
    right = fixed or broken
    single = runner.one_process(right) if right else None
    with _interruptible(proof, runner):
        if broken is not None:
            judged = runner.judge(broken, "broken", single)
            _, wanted = fixtures.expected_failures()[fixture.rule].of(fixture)
            proof.columns.append(Column(judged, fixtures.fails_as_expected(fixture, judged), wanted))
        if fixed is not None:
            judged = runner.judge(fixed, "fixed" if broken else "right", single)
            proof.columns.append(Column(judged, judged.passed))
    return proof
