"""One subject from start to end: run it, run it again if an oracle needs that, and judge."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from trl_lint.verify.oracles import (
    failures,
    metrics,
    own_device,
    own_share,
    sequence,
    single_writer,
    termination,
    training,
    true_value,
    whole_parameters,
)
from trl_lint.verify.oracles.logged_metrics import is_control, metrics_of, unsteady
from trl_lint.verify.processes import launcher
from trl_lint.verify.processes.interrupts import RunInterrupted
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import controlled, leftovers
from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.traces import Call, Run
from trl_lint.verify.record.verdicts import INTERRUPTED, Outcome, Verdict, unknown

# Ends after which it is a finding that a rank ran fewer collectives than the others.
WAITING = ("hang", "left early")
# The launcher of a subject that is one plain process with several GPUs.
BARE = "python"
# How much longer one process may take, relative to its share of the work.
MOST_ALONE = 5
# The number of characters of a subject's name in the name of its traces' folder.
LONGEST_NAME = 100
Start = Callable[[Launch, Job, bool], Run]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to be run.

    Attributes:
        launcher: What starts it, if that is not up to the launch: a name of `launcher.LAUNCHERS`, or `BARE` for one
            plain process that sees several GPUs.
        environment: Additional variables.
        sources: By file, the text that runs instead.
        program_files: Its own files, if known; values that they do not name are up to the libraries.
        needs_devices: Whether it needs a device for each process, which is emulated if there is none.
    """

    name: str
    script: str
    root: Path
    args: tuple[str, ...] = ()
    is_module: bool = False
    launcher: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    program_files: tuple[Path, ...] = ()
    needs_devices: bool = False

    def job(self, folder: Path) -> Job:
        """The job of its ranks, unchanged, with their traces in a folder."""
        return Job(
            script=self.script,
            args=tuple(self.args),
            traces=str(folder),
            root=str(self.root),
            is_module=self.is_module,
            sources=dict(self.sources),
            files=tuple(map(str, self.program_files)),
        )

    def namer(self) -> Callable[[str], bool]:
        """A function that says whether the program itself contains the name of a metric, as the end of a string."""
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in self.program_files]

        def names(metric: str) -> bool:
            name = re.compile(re.escape(metric) + r"[\"']")
            return not texts or any(name.search(text) for text in texts)

        return names


@dataclass
class Judged:
    """A run and the verdicts of the oracles. `moved`: the run with moved shares, if a metric needed it."""

    label: str
    run: Run
    verdicts: list[Verdict]
    moved: Run | None = None

    @property
    def passed(self) -> bool:
        return not any(verdict.failed for verdict in self.verdicts)

    @property
    def ended_well(self) -> bool:
        return bool(self.run.ranks) and all(rank.ended_well for rank in self.run.ranks)

    def verdict(self, oracle: str) -> Verdict | None:
        return next((verdict for verdict in self.verdicts if verdict.oracle == oracle), None)


@dataclass
class OneProcess:
    """A subject as one plain process, with the global batch of all ranks; it runs once. reference: under control."""

    start: Callable[[], Run]
    reference: controlled.Reference

    def __call__(self) -> Run:
        return self.start()


def start(launch: Launch, job: Job, plain: bool) -> Run:
    """Start a run with a launcher, as users do, or as a plain process."""
    return launcher.run(launch, job, plain=plain)


class Session:
    """Runs the subjects of one launch; keeps the traces below `folder`.

    gpus: the number on this machine. If it is less than the number of processes, GPUs are emulated for a subject that
    is one process with several GPUs. tidies: what each run creates in the user's folders is removed after it, or, if
    the session `keeps`, moved to its traces (`leftovers.py`).
    """

    def __init__(
        self,
        launch: Launch,
        folder: Path,
        *,
        gpus: int = 0,
        start: Start = start,
        tell: Tell = lambda text: None,
        tidies: bool = True,
        keeps: bool = False,
    ) -> None:
        self.launch = launch
        self.folder = folder
        self.emulates = gpus < launch.nproc
        self._start = start
        self._tell = tell
        self._tidies = tidies
        self._keeps = keeps
        self._count = 0
        self._seconds = 0.0
        # The second runs of a subject, by its name, its launcher and the label of the first.
        self._second: dict[tuple[str, str, str], Run] = {}
        self.partial: Judged | None = None

    def judge(
        self, subject: Subject, label: str, single: OneProcess | None = None, first: Judged | None = None
    ) -> Judged:
        """Run a subject on all ranks, or, with `BARE`, as one plain process with as many GPUs, and judge it.

        single: runs one process with the same global batch (`one_process`), if that is wanted. first: the first run of
        the same subject, if this is its second, which is made once for all callers.

        Raises:
            LaunchError: no rank has started.
            RunInterrupted: the command was asked to end; `partial` has what is known by then.
        """
        self.partial = None
        try:
            run = self._again(subject, first.label) if first else self._run_as_configured(subject, label)
        except RunInterrupted as error:
            self.partial = _partly(label, error.run) if error.run else None
            raise
        try:
            judged = self._judged(subject, label, run, single, first)
        except RunInterrupted:
            self.partial = _partly(label, run)
            raise
        return judged

    def _judged(
        self, subject: Subject, label: str, run: Run, single: OneProcess | None, first: Judged | None
    ) -> Judged:
        """A run and the verdicts of the oracles, which may need further runs."""
        is_bare = subject.launcher == BARE
        self._seconds = run.seconds
        end = termination.judge(run)
        moved = first.moved if first else None
        if moved is None and not end.failed:
            moved = self._moved(subject, label, run)
        one = single() if single and not end.failed else None
        values = [
            *self._of_metrics(
                run,
                lambda: first.run if first else self._again(subject, label),
                lambda: [
                    metrics.judge(run, moved),
                    true_value.judge_bare(run, one, self.launch.nproc)
                    if is_bare
                    else true_value.judge(run, one, subject.namer()),
                ],
            ),
        ]
        verdicts = _rows(run, end, values, lambda: self._of_devices(subject, label, run))
        if single is not None and not is_bare and not end.failed:
            verdicts = [self._controlled(subject, label, run, single, each) for each in verdicts]
        return Judged(label, run, verdicts, moved)

    def _of_devices(self, subject: Subject, label: str, run: Run) -> Verdict:
        """Whether tensors are on each process's own device, which is emulated in one more run."""
        reason = own_device.reason_not_needed(run)
        if subject.needs_devices:
            reason = "emulated in this run"
        if reason or self.launch.has_several_nodes:
            return unknown(own_device.ORACLE, reason or "on several machines it is not emulated")
        emulated = replace(subject, needs_devices=True)
        return own_device.judge(self._run(emulated, f"{label}, devices emulated"))

    def _controlled(self, subject: Subject, label: str, run: Run, single: OneProcess, verdict: Verdict) -> Verdict:
        """The verdict of controlled runs instead of *true value*, if one process trains differently."""
        is_open = verdict.oracle == true_value.ORACLE and verdict.outcome is Outcome.UNKNOWN
        if not is_open or len(run.ranks) < 2 or self.launch.has_several_nodes:
            return verdict
        is_own = subject.namer()
        is_needed = any(is_own(each.name) and not is_control(each) for each in metrics_of(run).values())
        # Results of its own collectives may be reported without a log.
        is_needed = is_needed or any(
            _is_called_by(subject, call) for call in run.ranks[0].calls if call.shape is not None
        )
        if not is_needed:
            return verdict
        return controlled.true_value(self.under_control(subject), label, single.reference, is_own, run.unsteady)

    def _again(self, subject: Subject, label: str) -> Run:
        """The second run of a subject, made once."""
        key = (subject.name, subject.launcher, label)
        if key not in self._second:
            of_same = {other: run for other, run in self._second.items() if other[0] == subject.name}
            self._second = {**of_same, key: self._run_as_configured(subject, f"{label}, again")}
        return self._second[key]

    def _run_as_configured(self, subject: Subject, label: str) -> Run:
        """The subject on all ranks, or with `BARE` as one process that sees as many GPUs.

        The latter is the effect of `python script.py`: Trainer wraps the model in `nn.DataParallel`.
        """
        is_bare = subject.launcher == BARE
        return self._run(subject, label, plain=is_bare, gpus=self.launch.nproc if is_bare else 0)

    def _moved(self, subject: Subject, label: str, run: Run) -> Run | None:
        """The run with moved shares, if a metric needs it and it is conclusive.

        Not on several machines: the others can't know that it is needed.
        """
        if len(run.ranks) < 2 or self.launch.has_several_nodes or not metrics.one_sided(run):
            return None
        return self._run(subject, f"{label}, shares moved", shift=1)

    def _of_metrics(self, run: Run, other: Callable[[], Run], judge: Callable[[], list[Verdict]]) -> list[Verdict]:
        """The verdicts on a run's metrics, without those that vary between runs. other: returns another run.

        A clock or the memory in use differs between ranks as it does between runs, whatever the metric's name.
        """
        verdicts = judge()
        if not any(each.failed for each in verdicts) or self.launch.has_several_nodes:
            return verdicts
        run.unsteady = unsteady(run, other())
        return judge() if run.unsteady else verdicts

    def one_process(self, subject: Subject) -> OneProcess:
        """The subject as one plain process that reads what all ranks together would read."""
        run = cache(lambda: self._run(subject, "one process", plain=True, scale=self.launch.world_size))
        return OneProcess(run, controlled.Reference(self.under_control(subject), self.folder / "dealt"))

    def under_control(self, subject: Subject) -> controlled.RunControlled:
        """A function that runs a subject under control: without randomness, with steps that ignore gradients."""

        def run(label: str, conditions: controlled.Conditions, *, alone: bool = False, grouped: bool = False) -> Run:
            scale = self.launch.world_size if alone else 1
            return self._run(subject, label, plain=alone, grouped=grouped, scale=scale, conditions=conditions)

        return run

    def end_on_one_process(self, subject: Subject, end: Verdict) -> Verdict | None:
        """How the subject ends on one process, if it fails there in the same way; None if it does not.

        end: the verdict on the run that failed. It is tried as `python script.py` first, then in a group of one, as a
        script may only need the variables of a group. A failure of bare python is compared with the latter alone.

        One process waits for no other, so it is not tried if ranks did; nor if they were stopped at the limit, as it
        would take as long; nor on several machines: the others can't know that it is needed.
        """
        if self.launch.has_several_nodes or end.kind in (*WAITING, "stopped"):
            return None
        for grouped in (True,) if subject.launcher == BARE else (False, True):
            run = self._run(subject, "on one process", plain=True, grouped=grouped)
            again = termination.judge(run)
            if not again.failed:
                return None
            if failures.is_same(end, again):
                return again
        return None

    def compare(self, subject: Subject, before: Judged, after: Judged) -> Verdict:
        """Whether a fixed program trains the same as the other one, which is `subject`."""
        verdict = training.judge_pair(before.run, after.run)
        if verdict.failed:
            second = self._again(subject, before.label)
            if training.judge_pair(before.run, second).failed:
                return unknown(training.ORACLE, "it does not train the same twice, so that fixes can't be compared")
        return verdict

    def _run(
        self,
        subject: Subject,
        label: str,
        *,
        plain: bool = False,
        grouped: bool = False,
        shift: int = 0,
        scale: int = 1,
        gpus: int = 0,
        conditions: controlled.Conditions | None = None,
    ) -> Run:
        """Run a subject. plain: as one process, which is a group of one if it is `grouped`."""
        self._tell(f"{subject.name}: {label}")
        self._count += 1
        words = re.findall(r"\w+", f"{self._count:02} {subject.name[-LONGEST_NAME:]} {label}")
        folder = self.folder / "-".join(words)
        held = conditions or controlled.Conditions()
        job = replace(
            subject.job(folder),
            shift=shift,
            scale=scale,
            gpus=gpus if self.emulates else 0,
            devices=subject.needs_devices and self.emulates and not plain,
            # Several machines may have to share theirs.
            cache="" if self.launch.has_several_nodes else str(folder / "datasets"),
            controlled=conditions is not None,
            seed=held.seed,
            rows=held.rows,
            fresh=self._fresh(subject),
        )
        launch = self._alone(gpus or 1) if plain else self._together(subject)
        variables = {**dict(subject.environment), **(launcher.group_of_one() if grouped else {})}
        with self._run_folders(folder) as folder_variables:
            return self._start_and_tidy(launch.with_environment(**variables, **folder_variables), job, plain)

    def _fresh(self, subject: Subject) -> tuple[str, ...]:
        """The folders that each run finds as the first one did; none if other machines may work in them."""
        is_asked = self._tidies and not self.launch.has_several_nodes
        return (str(Path.cwd()), str(subject.root)) if is_asked else ()

    @contextmanager
    def _run_folders(self, traces: Path) -> Iterator[dict[str, str]]:
        """Folders that exist for one run only, as variables: the path has to be short, as sockets are created in it."""
        with tempfile.TemporaryDirectory(prefix="trl-lint-run-", ignore_cleanup_errors=True) as temporary:
            try:
                yield {"TMPDIR": temporary}
            finally:
                shutil.rmtree(traces / "datasets", ignore_errors=True)

    def _start_and_tidy(self, launch: Launch, job: Job, plain: bool) -> Run:
        """A run after which the folders are as before."""
        run: Run | None = None
        try:
            run = self._start(launch, job, plain)
            return run
        except RunInterrupted as error:
            run = error.run
            raise
        finally:
            if run is not None:
                leftovers.remove_created(run, Path(job.traces, "made") if self._keeps else None)

    def _together(self, subject: Subject) -> Launch:
        return replace(self.launch, launcher=subject.launcher) if subject.launcher else self.launch

    def _alone(self, gpus: int) -> Launch:
        """The launch of one process, with a limit if it is known how long several take."""
        limit = MOST_ALONE * self.launch.world_size * self._seconds + 60 if self._seconds else None
        return replace(self.launch, limit=self.launch.limit or limit, gpus=gpus)


def _partly(label: str, run: Run) -> Judged:
    """A run that was interrupted, or without its further runs: the verdicts on it alone."""
    values = [unknown(each.ORACLE, "not judged: interrupted before") for each in (metrics, true_value)]
    devices = unknown(own_device.ORACLE, "not judged: interrupted before")
    return Judged(label, run, _rows(run, termination.judge(run), values, lambda: devices))


def _rows(run: Run, end: Verdict, values: Sequence[Verdict], devices: Callable[[], Verdict]) -> list[Verdict]:
    """The verdicts of a run, in the same order for every kind of run: they are the rows of the reports.

    Args:
        run: The run.
        end: The verdict on how it ended.
        values: The verdicts on its metrics.
        devices: Returns the verdict on its devices, which takes a separate run.
    """
    cut_short = run.stopped == INTERRUPTED or (end.failed and end.kind not in WAITING)
    return [
        end,
        sequence.judge(run, cut_short=cut_short),
        *values,
        training.judge_ranks(run),
        own_share.judge(run),
        devices(),
        single_writer.judge(run),
        *filter(None, [whole_parameters.judge(run)]),  # only for runs that read sharded tensors
    ]


def _is_called_by(subject: Subject, call: Call) -> bool:
    """Whether a program's own code calls a collective, not one of its libraries."""
    return bool(call.at) and Path(call.at[0].file) in subject.program_files


def fixed(subject: Subject, sources: Mapping[str, str]) -> Subject:
    """The same program with its files' texts fixed."""
    return replace(subject, sources=dict(sources))
