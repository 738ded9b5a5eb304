"""Runs a case: the release as it is, its fixed copy, and upstream's fixed release, each on all ranks and on one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluation.environments import ENVIRONMENTS, packages_of, python_of
from evaluation.proof.cases import BATCH, Case, Failure
from evaluation.proof.places import spelled_out
from evaluation.subjects import path_of
from evaluation.variations import VARIATIONS
from trl_lint.findings import Finding
from trl_lint.launch.checker import JudgedLaunch as Launched
from trl_lint.launch.rewrite import applied
from trl_lint.settings import Settings
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import launches
from trl_lint.verify.proof.mending import FixedCopy, write_fixed_copy
from trl_lint.verify.proof.session import BARE, Judged, Session, Start, Subject, start
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Verdict

# Only the CPU, and nothing from the network.
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "WANDB_MODE": "disabled",
}
# Seconds for a whole run.
LIMIT = 600.0
RELEASED, FIXED, UPSTREAM = "as released", "after --fix", "fixed upstream"


@dataclass
class Column:
    """One state of a case's code: its run on all ranks, judged, and its run as one process."""

    label: str
    release: str
    judged: Judged
    single: Run
    expected: tuple[Failure, ...]

    @property
    def run(self) -> Run:
        return self.judged.run

    @property
    def failed(self) -> list[Verdict]:
        return [verdict for verdict in self.judged.verdicts if verdict.failed]

    @property
    def as_expected(self) -> bool:
        """Whether exactly those oracles fail that must, in the expected ways."""
        by_oracle = {failure.oracle: failure for failure in self.expected}
        return {verdict.oracle for verdict in self.failed} == set(by_oracle) and all(
            fits(by_oracle[verdict.oracle], verdict, self.evidence(verdict)) for verdict in self.failed
        )

    def evidence(self, verdict: Verdict) -> list[str]:
        """The evidence of the verdict, with full paths."""
        return [spelled_out(line, self.run) for line in (verdict.summary, *verdict.evidence)]


@dataclass
class Trial:
    """A case that was run: its columns by label, and the results of `--fix` for its files.

    rest: the result for the files after the advice to the user was followed. lines: for a launch, the line before and
    after `--fix`.
    """

    case: Case
    columns: dict[str, Column] = field(default_factory=dict)
    mended: FixedCopy = field(default_factory=FixedCopy)
    rest: FixedCopy = field(default_factory=FixedCopy)
    lines: tuple[str, str] = ("", "")

    @property
    def applied(self) -> list[Finding]:
        return self.mended.applied

    @property
    def left(self) -> list[Finding]:
        """The findings that `--fix` leaves."""
        return [finding for finding in self.mended.findings if finding not in self.mended.applied]


def fits(failure: Failure, verdict: Verdict, evidence: list[str]) -> bool:
    """Whether an oracle failed as it must."""
    named = set(verdict.data.get("metrics", ()))
    return (
        verdict.kind == failure.way
        and (not failure.metrics or named == set(failure.metrics))
        and all(any(text in line for line in evidence) for text in (failure.said, failure.place))
    )


class Trials:
    """Runs cases on `nproc` processes, which `start` starts; what they leave behind is below `folder`."""

    def __init__(
        self, folder: Path, nproc: int = 2, tell: Callable[[str], None] = lambda text: None, start: Start = start
    ) -> None:
        self.folder = folder
        self.nproc = nproc
        self._start = start
        self._tell = tell
        self._mended: dict[tuple[object, ...], FixedCopy] = {}

    def run(self, case: Case) -> Trial:
        """All columns of a case.

        Raises:
            IndexUnreachable: an environment is missing and could not be built.
        """
        trial = Trial(case)
        if case.is_launch:
            self._run_launch(trial)
            return trial
        varied = self.varied(case, case.variation)
        trial.columns[RELEASED] = self.column(case, RELEASED, case.release, case.released, varied)
        if case.files:
            trial.mended = self.mended(case, varied)
            by_hand = self.varied(case, case.by_hand)
            trial.rest = self.mended(case, by_hand) if by_hand else FixedCopy()
            sources = (trial.rest if by_hand else trial.mended).sources
            trial.columns[FIXED] = self.column(case, FIXED, case.release, case.mended, sources)
        if case.upstream:
            trial.columns[UPSTREAM] = self.column(case, UPSTREAM, case.upstream, case.mended, {})
        return trial

    def _run_launch(self, trial: Trial) -> None:
        """Run it as the launch file starts it, and as the fixed one does."""
        case = trial.case
        settings = Settings(root=Path(__file__).parents[2])
        launch, trial.lines = self._launch(case, settings)
        trial.mended = FixedCopy(findings=[launch.finding], applied=[launch.finding] if launch.edits else [])
        subject = replace(launches.subject(launch, settings), name=case.subject)
        started = {RELEASED: (BARE, case.released), FIXED: ("accelerate", case.mended)}
        for label, (launcher, expected) in started.items():
            session = self._session(case, label, case.release)
            as_started = replace(subject, launcher=launcher)
            single = session.one_process(as_started)
            judged = session.judge(as_started, label, single)
            trial.columns[label] = Column(label, case.release, judged, single(), expected)

    def _launch(self, case: Case, settings: Settings) -> tuple[Launched, tuple[str, str]]:
        """The one launch of the case's launch file, and its line before and after `--fix`."""
        subject = self.subject(case, {})
        line = shlex.join(["python", "-u", subject.script, *subject.args])
        file = self._folder(case) / "train.sh"
        file.parent.mkdir(parents=True, exist_ok=True)
        gpus = ",".join(map(str, range(self.nproc)))
        file.write_text(f"export CUDA_VISIBLE_DEVICES={gpus}\n{line}\n", encoding="utf-8")
        (launch,) = launches.launches(file, settings)
        text = applied(file.read_text(encoding="utf-8"), launch.edits or ())
        return launch, (line, text.splitlines()[-1])

    def varied(self, case: Case, name: str) -> dict[str, str]:
        """By released file, the text of the variation that replaces it; empty without a name."""
        if not name:
            return {}
        variation = VARIATIONS[name]
        original = packages_of(case.release) / variation.path
        target = self._folder(case) / variation.name / variation.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(variation.applied(original.read_text(encoding="utf-8")), encoding="utf-8")
        return {str(original.resolve()): str(target)}

    def mended(self, case: Case, sources: Mapping[str, str]) -> FixedCopy:
        """The result of `--fix` for the case's files, which several cases may share."""
        texts = tuple((file, Path(text).read_text(encoding="utf-8")) for file, text in sources.items())
        key = (case.release, case.files, case.rules, texts)
        if key not in self._mended:
            self._mended[key] = self._mend(case, sources)
        return self._mended[key]

    def _mend(self, case: Case, sources: Mapping[str, str]) -> FixedCopy:
        self._tell(f"{case.name}: trl-lint --fix")
        pins = ENVIRONMENTS[case.release].pins
        settings = Settings(
            select=case.rules, ignore=(), target_trl=case.release, target_transformers=pins["transformers"]
        )
        files = [packages_of(case.release) / file for file in case.files]
        return write_fixed_copy(files, settings, self.folder / f"fixed-{len(self._mended) + 1}", dict(sources))

    def column(
        self, case: Case, label: str, release: str, expected: tuple[Failure, ...], sources: Mapping[str, str]
    ) -> Column:
        session = self._session(case, label, release)
        subject = self.subject(case, sources)
        single = session.one_process(subject)
        return Column(label, release, session.judge(subject, label, single), single(), expected)

    def judged(self, case: Case, label: str, sources: Mapping[str, str], **options: float) -> Judged:
        """The case's release with these texts, only on all ranks."""
        return self._session(case, label, case.release).judge(self.subject(case, sources, **options), label)

    def subject(self, case: Case, sources: Mapping[str, str], **options: float) -> Subject:
        """The program, with as many rows for one process as for all of them. `options`: those that differ from the
        case's.
        """
        script = path_of(case.subject)
        numbers = {"steps": case.steps, "batch": BATCH, **case.options, **options}
        numbers.setdefault("rows", int(numbers["steps"] * numbers["batch"] * self.nproc))
        args = tuple(text for name, value in numbers.items() for text in (f"--{name}", str(value)))
        return Subject(case.subject, str(script), script.parent, args, sources=sources)

    def _session(self, case: Case, label: str, release: str) -> Session:
        launch = Launch(str(python_of(release)), nproc=self.nproc, backend="gloo", timeout=case.timeout, limit=LIMIT)
        folder = self._folder(case) / label.replace(" ", "-").strip("-")

        def tell(text: str) -> None:
            self._tell(f"{case.name}: trl {release}, {text.partition(': ')[2]}")

        return Session(launch.with_environment(**ENVIRONMENT), folder, start=self._start, tell=tell)

    def _folder(self, case: Case) -> Path:
        return self.folder / f"{case.name} {case.release}".replace(",", "").replace(" ", "-")
