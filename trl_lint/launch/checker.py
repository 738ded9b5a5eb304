"""The findings of TRL004 in a file of any kind, and their fixes."""

from __future__ import annotations

import json
import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from trl_lint import quiet_ast
from trl_lint.findings import Applicability, Consequence, Finding, Fix, Note, Position
from trl_lint.findings import Edit as PlacedEdit
from trl_lint.knowledge.heuristics import LOOP_SCRIPT
from trl_lint.launch.commands.commands import Command
from trl_lint.launch.commands.source_map import line_starts
from trl_lint.launch.judge.arguments import may_ask_to_train, may_train
from trl_lint.launch.judge.file_names import is_for_one_gpu
from trl_lint.launch.judge.gpus import Gpus, GpuVerdict, gpus
from trl_lint.launch.judge.launchers import training_script
from trl_lint.launch.judge.python_invocation import Start, bare_start, own_launcher
from trl_lint.launch.judge.starts import launched_program
from trl_lint.launch.parsers import readers
from trl_lint.launch.rewrite import TextEdit, applied, rewrite
from trl_lint.launch.training.launch_project import LaunchProject, changed_folder
from trl_lint.launch.training.trainers import Trainers, Training
from trl_lint.rules.bare_python_launch import BarePythonLaunch

Places = Callable[[int], Position]

# Fixes that do not pass together are tried one by one, which reads the file again for each.
MOST_TRIED = 50
# The folders of torch's package index, by build.
_CPU_WHEELS = re.compile(r"download\.pytorch\.org/whl/cpu\b")
_CUDA_WHEELS = re.compile(r"download\.pytorch\.org/whl/(?:cu\d|rocm)")
_MOST_SHOWN = 200
_HELP = "start it with `accelerate launch` (or `torchrun`), which makes one process per GPU"
_DATA_PARALLEL = (
    "Trainer wraps the model in DataParallel, which, depending on the release, fails, trains on a part of each batch, "
    "or is slow"
)
# Trainers under which nothing crashes.
_PLAIN = frozenset({"Seq2SeqTrainer", "Trainer"})
_OTHERS_IDLE = "all but one of them stay idle"


@dataclass(frozen=True, slots=True)
class JudgedLaunch:
    """A wrong launch: the finding, and the edits that fix it (None: there is only a hint).

    start, script: what is started, and its file; None if that is outside the project.
    """

    finding: Finding
    edits: tuple[TextEdit, ...] | None
    start: Start
    script: Path | None


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings in a file. remark: why the file, or a part of it, was not checked; "" if all of it was."""

    text: str
    launches: tuple[JudgedLaunch, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class _Fault:
    """A wrong start of a training. training: None for a script that is known by its path only."""

    start: Start
    verdict: GpuVerdict
    script: Path | None
    training: Training | None


def checked(path: Path, source: bytes, project: LaunchProject) -> Checked:
    """The findings in a file with their edits, and what could not be checked."""
    reading = readers.read(path, source)
    report_unknown = not _for_cpu(reading.text) and not is_for_one_gpu(path)
    launched = _scripts_with_launcher(reading.commands)
    groups: dict[tuple[int, int], list[_Fault | None]] = {}
    for command in reading.commands:
        start = None if own_launcher(command) else bare_start(command)
        if start is not None:
            word = start.interpreter or start.script or command.words[0]
            fault = _fault(start, path, project, report_unknown and posixpath.basename(start.path) not in launched)
            groups.setdefault((word.start, word.end), []).append(fault)
    places = _places(path, reading.text)
    found = [_launch(path, reading.text, places, group, project) for group in groups.values() if any(group)]
    remark = _remark(reading.problem) if readers.is_launch_file(path, source) else ""
    return Checked(reading.text, tuple(sorted(found, key=lambda each: each.finding.sort_key)), remark)


def _scripts_with_launcher(commands: Iterable[Command]) -> set[str]:
    """The names of the scripts that a file starts with a launcher; there, bare python is meant for one GPU."""
    return {posixpath.basename(launched_program(each)) for each in commands} - {""}


def _remark(problem: str) -> str:
    whole = not problem or problem.startswith("not looked at")
    return problem if whole else f"launch commands not all read: {problem}"


def _for_cpu(text: str) -> bool:
    """Whether a file installs torch only without CUDA, so that what it starts sees no GPU."""
    return _CPU_WHEELS.search(text) is not None and not _CUDA_WHEELS.search(text)


def _fault(start: Start, path: Path, project: LaunchProject, report_unknown: bool) -> _Fault | None:
    """What is wrong with a launch. report_unknown: whether launches that say nothing of GPUs count."""
    verdict = gpus(start)
    certain = verdict.gpus is Gpus.SEVERAL
    is_unclear = (
        verdict.gpus is Gpus.UNKNOWN and not verdict.evidence and report_unknown and project.unknown is not False
    )
    if not (certain or is_unclear) or not may_train(start):
        return None
    script = project.started(start, path)
    if script is None:
        path_known = posixpath.join(changed_folder(start), start.path)
        return _Fault(start, verdict, None, None) if training_script(path_known) else None
    training = project.trainers.training(script)
    if training is None:
        return None
    if training.on_request and not may_ask_to_train(start, partial(project.text_of, start, path)):
        return None
    return _Fault(start, verdict, script, training)


# --- findings -------------------------------------------------------------------------------------------


def _places(path: Path, text: str) -> Places:
    """The function that converts an index into a file's text to a position for users."""
    if readers.front_end(path) != readers.NOTEBOOK:
        return _Places(text)
    from trl_lint.launch.parsers.notebook_places import CellPlaces

    return CellPlaces(text)


class _Places:
    """Lines and columns of a text, both counted from 1; a byte order mark has no column."""

    def __init__(self, text: str) -> None:
        self._starts = line_starts(text)
        self._mark = text.startswith("\ufeff")

    def __call__(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1 - (self._mark and line == 1))


def _launch(
    path: Path, text: str, places: Places, group: Sequence[_Fault | None], project: LaunchProject
) -> JudgedLaunch:
    """One finding for all starts at one place, such as a line of a function that is called several times."""
    faults = [each for each in group if each is not None]
    # A certain fault is reported rather than a possible one.
    fault = min(faults, key=lambda each: each.verdict.gpus is not Gpus.SEVERAL)
    edits, reason = _edits(text, group)
    command, training = fault.start.command, fault.training
    consequence, is_certain = _consequence(fault), fault.verdict.gpus is Gpus.SEVERAL
    because = (
        (Note(f"it trains with `{training.trainer}`", str(training.path), Position(training.line, training.column)),)
        if training
        else ()
    )
    finding = Finding(
        code=BarePythonLaunch.code,
        name=BarePythonLaunch.name,
        message=_message(fault),
        path=str(path),
        start=places(command.start),
        end=places(command.end),
        because=because,
        help=_HELP,
        fix=_fix(places, edits, reason, faults, project.trainers),
        consequence=consequence,
        by_default=consequence is not Consequence.WASTE and (is_certain or project.unknown is True),
    )
    return JudgedLaunch(finding, edits, fault.start, fault.script)


def _wraps(fault: _Fault) -> bool:
    """Whether the model is wrapped in DataParallel."""
    return fault.training.wraps if fault.training else not LOOP_SCRIPT.fits(fault.start.path)


def _consequence(fault: _Fault) -> Consequence:
    """The consequence with the latest releases of the libraries, as on the rule's page."""
    if not _wraps(fault):
        return Consequence.WASTE
    is_plain = fault.training is not None and fault.training.trainer in _PLAIN
    return Consequence.WRONG_TRAINING if is_plain else Consequence.CRASH


def _message(fault: _Fault) -> str:
    start = fault.start
    name = start.path or start.module_name or (start.script.raw if start.script else "")
    harm = _DATA_PARALLEL if _wraps(fault) else _OTHERS_IDLE
    if fault.verdict.gpus is Gpus.SEVERAL:
        evidence = _shortened(" ".join(fault.verdict.evidence.split()))
        return f"bare python starts the training `{name}` as one process for several GPUs (`{evidence}`): {harm}"
    return f"bare python starts the training `{name}` as one process: if more than one GPU is visible, {harm}"


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _edits(text: str, group: Sequence[_Fault | None]) -> tuple[tuple[TextEdit, ...] | None, str]:
    """The edits at a place, and the reason if there are none."""
    if None in group:
        return None, "the same line also starts other programs"
    plans = {rewrite(each.start, text) for each in group if each is not None}
    if len(plans) != 1 or None in plans:
        return None, "no exact rewrite is known"
    return plans.pop(), ""


def _fix(
    places: Places, edits: tuple[TextEdit, ...] | None, reason: str, faults: Sequence[_Fault], trainers: Trainers
) -> Fix:
    applicability = Applicability.DISPLAY
    if edits is not None:
        reason = _caution(faults, trainers)
        applicability = Applicability.UNSAFE if reason else Applicability.SAFE
    return Fix(applicability, "Start it with `accelerate launch`", partial(_placed, places, edits or ()), reason)


def _caution(faults: Sequence[_Fault], trainers: Trainers) -> str:
    """Why a launch with one process per GPU may not run as well as this one does."""
    if any(each.verdict.gpus is not Gpus.SEVERAL for each in faults):
        return "nothing says how many GPUs there are"
    fixed = next((found for each in faults if each.script and (found := trainers.fixed_gpu(each.script))), "")
    return (
        f"the program names one GPU by its number (`{_shortened(fixed)}`), which all processes would use"
        if fixed
        else ""
    )


def _placed(places: Places, edits: Iterable[TextEdit]) -> tuple[PlacedEdit, ...]:
    return tuple(PlacedEdit(places(each.start), places(each.end), each.text) for each in edits)


# --- fixes ----------------------------------------------------------------------------------------------


def apply_fixes(
    path: Path, source: bytes, project: LaunchProject, wanted: Sequence[JudgedLaunch]
) -> tuple[bytes, list[tuple[JudgedLaunch, str]]]:
    """Apply the wanted fixes, all together or else one by one. Returns the content, and withheld fixes with reasons."""
    before = checked(path, source, project)
    new, reason = _try_fixes(path, before, project, wanted)
    if not reason or len(wanted) == 1:
        return (new, []) if not reason else (source, [(wanted[0], reason)])
    passing: list[JudgedLaunch] = []
    withheld: list[tuple[JudgedLaunch, str]] = []
    current = source
    for each in wanted:
        if len(passing) + len(withheld) >= MOST_TRIED:
            withheld.append((each, f"only {MOST_TRIED} fixes of a file are tried one by one"))
            continue
        new, reason = _try_fixes(path, before, project, [*passing, each])
        if reason:
            withheld.append((each, reason))
        else:
            passing.append(each)
            current = new
    return current, withheld


def _try_fixes(
    path: Path, before: Checked, project: LaunchProject, wanted: Sequence[JudgedLaunch]
) -> tuple[bytes, str]:
    """The new content, and why it does not pass the gate ("" if it does)."""
    edits = sorted({edit for each in wanted for edit in each.edits or ()}, key=lambda each: each.start)
    if any(one.end > other.start for one, other in pairwise(edits)):
        return b"", "it overlaps another fix"
    text = applied(before.text, edits)
    new = text.encode("utf-8")
    if not _parses(path, text):
        return b"", "the result would not parse"
    after = checked(path, new, project)
    if after.remark and not before.remark:
        return b"", "the result would not parse"
    left = len(before.launches) - len(wanted)
    return new, "" if len(after.launches) <= left else f"the result would still have {BarePythonLaunch.code}"


def _parses(path: Path, text: str) -> bool:
    try:
        if path.suffix == ".py":
            return quiet_ast.parsed(text.removeprefix("\ufeff")) is not None
        if path.suffix == ".ipynb":
            json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError, MemoryError):
        return False
    return True
