"""What a launch says about the number of GPUs that its process sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from trl_lint.knowledge.heuristics import (
    ASKS_FOR_GPUS,
    CPU_ARGUMENT,
    GPU_INDEX_ARGUMENT,
    HOSTED_RUNNER,
    LAUNCHER_ARGUMENT,
    NAMES_LAUNCHER,
    ONE_GPU_NOTE,
    PLACEMENT_ARGUMENT,
    SEVERAL_GPUS_NOTE,
)
from trl_lint.launch.commands.command_wrappers import ASSIGNMENT, Wrapper, unwrap
from trl_lint.launch.commands.commands import Command, Hint, HintKind, Word
from trl_lint.launch.judge.python_invocation import Start


class Gpus(str, Enum):
    """ONE, CPU and OWN_LAUNCHER are correct code. SEVERAL is certain. UNKNOWN: nothing that can be read says it."""

    ONE = "one"
    SEVERAL = "several"
    UNKNOWN = "unknown"
    OWN_LAUNCHER = "own launcher"
    CPU = "cpu"


@dataclass(frozen=True, slots=True)
class GpuVerdict:
    """evidence: the text that says so; with UNKNOWN it mentions GPUs without a readable number."""

    gpus: Gpus
    evidence: str = ""


# Variables that only a launcher, or code that acts as one, sets (accelerate/state.py, torch env:// rendezvous).
RANK_VARIABLES = ("LOCAL_RANK", "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
           "ASCEND_RT_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")  # fmt: skip
_FALSE = frozenset({"false", "0", "no"})


# The same paragraph or condition belongs to many commands, and is searched once.
_REMEMBERED = 64


def gpus(start: Start) -> GpuVerdict:
    """What the launch itself says; whatever is closest to the process counts first."""
    words = start.arguments
    wrappers = (*_outer(start.command), *start.wrappers)
    for question in _QUESTIONS:
        if verdict := question(start, words, wrappers):
            return verdict
    return GpuVerdict(Gpus.UNKNOWN)


def is_one_of_several(start: Start) -> bool:
    """Whether other processes are started beside this one: by ranks set by hand, or as tasks of Slurm."""
    places_model = any(PLACEMENT_ARGUMENT.fits(word.value or "") for word in start.arguments)
    one_gpu = any(GPU_INDEX_ARGUMENT.fits(name) and value.isdecimal() for name, value, _ in options(start.arguments))
    return gpus(start).gpus is Gpus.OWN_LAUNCHER and not (places_model or one_gpu)


def is_first_rank(start: Start) -> bool:
    """Whether a process is told that it is the first one, and its command mentions no others."""
    if any(name in start.environment for name in RANK_VARIABLES) or any(each.name == "srun" for each in start.wrappers):
        return False
    told = [(name, value) for name, value, _ in options(start.arguments) if LAUNCHER_ARGUMENT.fits(name)]
    return bool(told) and all(name.endswith("rank") and value == "0" for name, value in told)


def may_be_one_of_several(start: Start) -> bool:
    """Whether `srun` starts it in an allocation that is made elsewhere, with an unknown number of tasks.

    A batch script, whose `#SBATCH` lines are read, has one task unless they say otherwise.
    """
    wrappers = (*_outer(start.command), *start.wrappers)
    in_batch = any(each.kind is HintKind.SLURM for each in start.command.surroundings.hints)
    return any(each.name == "srun" for each in wrappers) and not in_batch and gpus(start).gpus is Gpus.UNKNOWN


def _outer(command: Command) -> tuple[Wrapper, ...]:
    return tuple(wrapper for words in command.surroundings.around for wrapper in unwrap(words).wrappers)


def _ranks(start: Start, words: Sequence[Word], wrappers: Sequence[Wrapper]) -> GpuVerdict | None:
    """Ranks set by hand, arguments that only a launcher passes, and models that place themselves."""
    for name in RANK_VARIABLES:
        if name in start.environment:
            return GpuVerdict(Gpus.OWN_LAUNCHER, f"{name}={start.environment[name] or '…'}")
    for place, word in enumerate(words):
        behind = words[place + 1].value if place + 1 < len(words) else None
        if word.value is not None and LAUNCHER_ARGUMENT.fits(word.value) and not _is_no_rank(word.value, behind):
            return GpuVerdict(Gpus.OWN_LAUNCHER, word.raw)
        if PLACEMENT_ARGUMENT.fits(word.value or ""):
            return GpuVerdict(Gpus.OWN_LAUNCHER, " ".join(each.raw for each in words[place : place + 2]))
    return None


def _is_no_rank(word: str, behind: str | None) -> bool:
    """`--local_rank -1`, the default of transformers' TrainingArguments: no launcher has started this process."""
    name, _, value = word.partition("=")
    return name.endswith("rank") and (value or behind) == "-1"


def _cpu(start: Start, words: Sequence[Word], wrappers: Sequence[Wrapper]) -> GpuVerdict | None:
    for place, word in enumerate(words):
        behind = words[place + 1].value if place + 1 < len(words) else None
        value = word.value or ""
        if CPU_ARGUMENT.fits(value) and (behind or "").lower() not in _FALSE:
            return GpuVerdict(Gpus.CPU, word.raw)
        if value in ("--device=cpu", "--device=mps") or (value == "--device" and behind in ("cpu", "mps")):
            return GpuVerdict(Gpus.CPU, "--device cpu")
    if (start.environment.get("ACCELERATE_USE_CPU") or "").lower() in ("1", "true", "yes"):
        return GpuVerdict(Gpus.CPU, "ACCELERATE_USE_CPU")
    return None


def _chosen(start: Start, words: Sequence[Word], wrappers: Sequence[Wrapper]) -> GpuVerdict | None:
    """In a branch that depends on the number of GPUs, only a literal assignment in front of the command is certain."""
    if any(each.name in VISIBLE and each.written_out for each in start.command.assignments):
        return None
    choices = (each for each in start.command.surroundings.hints if each.kind is HintKind.CHOICE)
    return next((GpuVerdict(Gpus.UNKNOWN, each.text) for each in choices if _mentions_gpus(each)), None)


@lru_cache(_REMEMBERED)
def _mentions_gpus(hint: Hint) -> bool:
    return ASKS_FOR_GPUS.fits(hint.value)


def _visible(start: Start, words: Sequence[Word], wrappers: Sequence[Wrapper]) -> GpuVerdict | None:
    """`CUDA_VISIBLE_DEVICES` and similar variables; the one set closest to the process counts."""
    passed = {name: value for wrapper in wrappers for name, value in _passed_variables(wrapper).items()}
    for name in VISIBLE:
        if name in start.environment or name in passed:
            value = start.environment[name] if name in start.environment else passed[name]
            return GpuVerdict(_devices(value), f"{name}={'…' if value is None else value}")
    return None


def _devices(value: str | None) -> Gpus:
    if value is None:
        return Gpus.UNKNOWN
    devices = [each for each in value.replace(" ", "").split(",") if each]
    if value in ("all", "void"):
        return Gpus.UNKNOWN
    if not devices or devices[0] in ("-1", "none", "NoDevFiles"):
        return Gpus.CPU
    # From -1 on nothing is visible; a value that is no number may be a template's variable.
    devices = devices[: devices.index("-1")] if "-1" in devices else devices
    if not all(re.fullmatch(r"\d+|(?:GPU|MIG)-[\w/-]+", each) for each in devices):
        return Gpus.UNKNOWN
    return Gpus.ONE if len(set(devices)) == 1 else Gpus.SEVERAL


def _passed_variables(wrapper: Wrapper) -> dict[str, str | None]:
    """The variables of `docker run -e NAME=value`, `sbatch --export=ALL,NAME=value`."""
    found: dict[str, str | None] = {}
    for name, value, _ in options(wrapper.words):
        if name in ("-e", "--env") and (match := ASSIGNMENT.match(value)):
            found[match[1]] = match[2].strip("\"'")
        elif name == "--export":
            pairs = (ASSIGNMENT.match(each) for each in value.split(","))
            found |= {match[1]: match[2] for match in pairs if match}
    return found


def options(words: Sequence[Word]) -> list[tuple[str, str, str]]:
    """The options among these words with their values ("" if there is none or it is unknown), and their text."""
    found: list[tuple[str, str, str]] = []
    for place, word in enumerate(words):
        if not (word.value or word.raw).startswith("-"):
            continue
        name, equals, value = (word.value or word.raw).partition("=")
        behind = words[place + 1] if place + 1 < len(words) else None
        text = word.raw
        if re.fullmatch(r"-[A-Za-z][0-9]+", name):
            name, value, equals = name[:2], name[2:], "="
        if not equals and behind is not None and not (behind.value or behind.raw).startswith("-"):
            value, text = behind.value or "", f"{word.raw} {behind.raw}"
        found.append((name, value, text))
    return found


def _slurm(start: Start, words: Sequence[Word], wrappers: Sequence[Wrapper]) -> GpuVerdict | None:
    """srun starts one process per task; a batch script itself runs once, with all GPUs of the node."""
    batch = [
        (*_option(each.value), each.text) for each in start.command.surroundings.hints if each.kind is HintKind.SLURM
    ]
    passed = [option for each in wrappers if each.name in ("sbatch", "salloc") for option in options(each.words)]
    step = [option for each in wrappers if each.name == "srun" for option in options(each.words)]
    job = [*batch, *passed]
    if any(each.name == "srun" for each in wrappers):
        several = _tasks(step) or _tasks(job)
        if several and several[0] != 1:
            return GpuVerdict(Gpus.OWN_LAUNCHER, f"srun, {several[1]}")
    return _slurm_gpus(step) or _slurm_gpus(job)


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    short = re.fullmatch(r"(-[A-Za-z])([0-9]+)", name)
    return (short[1], short[2]) if short else (name, value)


# Options for the number of tasks, and for the number of GPUs of a task or node.
_TASKS = ("-n", "--ntasks", "--ntasks-per-node", "--ntasks-per-gpu", "--ntasks-per-socket", "-N", "--nodes")
_NODE_GPUS = ("--gpus-per-task", "--gres", "--gpus-per-node", "-G", "--gpus", "--gpus-per-socket")


def _tasks(options: Sequence[tuple[str, str, str]]) -> tuple[int | None, str] | None:
    """The number of tasks (None if unreadable) and the text; None if nothing says it."""
    found = [(_whole(value), text) for name, value, text in options if name in _TASKS]
    return next((each for each in found if each[0] != 1), found[0] if found else None)


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 6 else None


def _slurm_gpus(options: Sequence[tuple[str, str, str]]) -> GpuVerdict | None:
    for wanted in _NODE_GPUS:
        for name, value, text in options:
            if name == wanted and (name != "--gres" or "gpu" in value or not value):
                return GpuVerdict(_amount(value.rpartition("gpu")[2].lstrip(":") if name == "--gres" else value), text)
    return None


def _amount(value: str) -> Gpus:
    """The number of GPUs in `4`, `a100:4`, `all` or "" (one); `gres=gpu` alone means one."""
    number = value.rpartition(":")[2].partition("(")[0].partition(",")[0]
    if value == "all":
        return Gpus.UNKNOWN
    if number.isdecimal():
        return {0: Gpus.CPU, 1: Gpus.ONE}.get(int(number[:6]), Gpus.SEVERAL)
    return Gpus.ONE if not value else Gpus.UNKNOWN


def _container(start: Start, words: Sequence[Word], wrappers: Sequence[Wrapper]) -> GpuVerdict | None:
    """`docker run --gpus all`: the author asks for all GPUs of a machine with several."""
    for wrapper in reversed(wrappers):
        for name, value, text in options(wrapper.words):
            if name == "--gpus" and wrapper.name in ("docker", "podman", "nvidia-docker"):
                return GpuVerdict(_requested(value), text)
    return None


def _requested(value: str) -> Gpus:
    """Docker's syntax: `all`, `2`, `device=0,1`, `"device=0"`."""
    value = value.strip("\"'")
    if value == "all":
        return Gpus.SEVERAL
    if value.startswith("device="):
        return _devices(value.removeprefix("device="))
    return _amount(value) if value else Gpus.UNKNOWN


def _by_hints(start: Start, words: Sequence[Word], wrappers: Sequence[Wrapper]) -> GpuVerdict | None:
    hints = start.command.surroundings.hints
    for kind, read in _HINT_READERS.items():
        for hint in reversed(hints):
            if hint.kind == kind and (verdict := read(hint)):
                return verdict
    return None


def _by_host(hint: Hint) -> GpuVerdict | None:
    return GpuVerdict(Gpus.CPU, hint.text) if HOSTED_RUNNER.fits(hint.value) else None


@lru_cache(_REMEMBERED)
def _by_note(hint: Hint) -> GpuVerdict | None:
    return GpuVerdict(Gpus.ONE, hint.text) if NAMES_LAUNCHER.fits(hint.value) else _by_comment(hint)


@lru_cache(_REMEMBERED)
def _by_comment(hint: Hint) -> GpuVerdict | None:
    is_of_one = ONE_GPU_NOTE.fits(hint.value) and not SEVERAL_GPUS_NOTE.fits(hint.value)
    return GpuVerdict(Gpus.ONE, hint.text) if is_of_one else None


_HINT_READERS: dict[HintKind, Callable[[Hint], GpuVerdict | None]] = {
    HintKind.GPUS: lambda hint: GpuVerdict(_requested(hint.value), hint.text),
    HintKind.HOST: _by_host,
    HintKind.NOTE: _by_note,
    HintKind.HEAD: _by_comment,
}
_QUESTIONS = (_ranks, _cpu, _chosen, _visible, _slurm, _container, _by_hints)
