"""A proof: what came of one subject, as it is and fixed, side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from trl_lint.config import Settings
from trl_lint.discovery import import_roots
from trl_lint.findings import Finding
from trl_lint.launch.checking import Launch
from trl_lint.launch.trainers import Trainers
from trl_lint.verify import fixtures, launches, mending, session
from trl_lint.verify.fixtures import Fixture
from trl_lint.verify.launcher import LaunchError
from trl_lint.verify.session import BARE, Judged, Session, Subject
from trl_lint.verify.traces import Run
from trl_lint.verify.verdicts import Verdict


@dataclass
class Column:
    """One run of a subject. `holds`: it came out as it should; `wanted`: what that is, where it is not to pass.

    is_bare: it was one process with several GPUs.
    """

    judged: Judged
    holds: bool
    wanted: str = ""
    is_bare: bool = False


@dataclass
class Proof:
    """One subject. `compared`: whether the fix changes what is trained, where both were run.

    is_fixture: it has an outcome that is wanted, others are a user's own.
    """

    name: str
    columns: list[Column]
    compared: Verdict | None = None
    fixes: list[Finding] = field(default_factory=list)
    hints: list[Finding] = field(default_factory=list)
    withheld: list[tuple[Finding, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_fixture: bool = False

    @property
    def holds(self) -> bool:
        return all(column.holds for column in self.columns) and not (self.compared and self.compared.failed)

    @property
    def runs(self) -> list[Run]:
        return [column.judged.run for column in self.columns]


@contextmanager
def trace_folder(keep: Path | None) -> Iterator[Path]:
    """Where traces go: a folder that stays, or one that is gone afterwards.

    Raises:
        LaunchError: it can't be made.
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
    """A script as it is and, where its findings have fixes, fixed.

    bare: first as one process that sees several GPUs, as plain `python` would start it.

    Raises:
        LaunchError: no rank has started.
    """
    files = _files(subject, settings, include)
    mended = mending.mend(files, settings, runner.folder / "fixed", dict(subject.sources))
    subject = replace(subject, own=tuple(files))
    single = runner.one_process(subject) if one_process else None
    columns = [_column(runner, subject, BARE, single)] if bare else []
    before = runner.judge(subject, "as it is", single)
    columns.append(Column(before, before.passed))
    proof = Proof(subject.name, columns, withheld=mended.withheld, problems=mended.problems)
    proof.fixes = mended.applied
    proof.hints = [finding for finding in mended.findings if finding not in mended.applied]
    if mended.applied:
        after = runner.judge(session.fixed(subject, mended.sources), "fixed", single)
        proof.columns.append(Column(after, after.passed))
        proof.compared = runner.compare(subject, before, after)
    return proof


def of_launch(launch: Launch, settings: Settings, runner: Session, *, one_process: bool) -> Proof:
    """A launch with bare python: on several GPUs, and started with `accelerate launch` instead.

    Raises:
        LaunchError: it can't be run, or no rank has started.
    """
    subject = launches.subject(launch, settings)
    single = runner.one_process(subject) if one_process else None
    proof = Proof(subject.name, [_column(runner, subject, launcher, single) for launcher in (BARE, "accelerate")])
    (proof.fixes if launch.edits is not None else proof.hints).append(launch.finding)
    return proof


def _column(runner: Session, subject: Subject, launcher: str, single: Callable[[], Run] | None) -> Column:
    """A program started as a launch file has it, or should."""
    gpus = f"{runner.launch.nproc} {'emulated ' if runner.emulates else ''}GPUs"
    label = f"bare python, {gpus}" if launcher == BARE else f"{launcher} launch"
    judged = runner.judge(replace(subject, launcher=launcher), label, single)
    return Column(judged, judged.passed, is_bare=launcher == BARE)


def _files(subject: Subject, settings: Settings, include: Sequence[Path]) -> list[Path]:
    """The program's own files, and what the user names besides."""
    roots = import_roots(settings.root, [subject.root])
    script = Trainers(roots).module(subject.script, roots) if subject.is_module else Path(subject.script)
    return mending.files_of(script, roots, include) if script else mending.files_in(include)


def of_fixture(fixture: Fixture, runner: Session) -> Proof:
    """A fixture: broken it fails in its rule's way, fixed it passes; one that is right passes.

    Raises:
        LaunchError: no rank has started.
    """
    proof = Proof(fixture.name, [], is_fixture=True)
    broken, fixed = fixtures.subjects(fixture)
    right = fixed or broken
    single = runner.one_process(right) if right else None
    if broken is not None:
        judged = runner.judge(broken, "broken", single)
        wanted = fixtures.WAYS[fixture.rule].way
        proof.columns.append(Column(judged, fixtures.fails_its_way(fixture, judged), wanted))
    if fixed is not None:
        judged = runner.judge(fixed, "fixed" if broken else "right", single)
        proof.columns.append(Column(judged, judged.passed))
    return proof
