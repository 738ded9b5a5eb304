"""Launches that see one GPU, and so start one process, although a variable says which GPU.

For example:

    PORT=$((29500 + GPU_ID))                                     a variable in arithmetic is a single number
    CUDA_VISIBLE_DEVICES=$GPU_ID accelerate launch train.py

    for gpu in 0 1 2 3; do                                       so is a loop variable over numbers,
      CUDA_VISIBLE_DEVICES=$gpu accelerate launch train.py

    GPUS=(0 1 2 3)                                               or an element of an array of numbers
    CUDA_VISIBLE_DEVICES=${GPUS[$i]} accelerate launch train.py

    N=1; GPU=3                                                   or of torchrun, if a variable says one process, too
    CUDA_VISIBLE_DEVICES=$GPU torchrun --nproc_per_node=$N train.py

    submit --gpus 1 -- accelerate launch train.py                a cluster is asked for a machine with one GPU,
    RUN="submit --gpus 1"                                        also if a variable says so
    $RUN -- accelerate launch train.py
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from trl_lint.knowledge.heuristics import GPU_COUNT_ARGUMENT, GPU_INDEX_ARGUMENT, LAUNCHER_ARGUMENT, NODE_COUNT_ARGUMENT
from trl_lint.launch.commands.commands import Command, Word
from trl_lint.launch.judge.gpus import RANK_VARIABLES, VISIBLE, options
from trl_lint.launch.judge.python_invocation import Start

# The value may be quoted, with escaped quotes in a command inside a string.
_SET = re.compile(
    rb"""\b(\w+_VISIBLE_DEVICES)=(?:\\?["'])?(\$\{?\w+\}?|\$\{\w+\[[^\]]*\]\}|\d+(?![\w,])|)(?![\w,$\[])"""
)
_ANY = re.compile(rb"\b(\w+_VISIBLE_DEVICES)=")
_ARITHMETIC = re.compile(rb"\$\(\(((?:[^()]|\([^()]*\))*)\)\)")
_NUMBERS = rb"(?:\d+|\{\d+\.\.\d+\}|\$\(seq\b[^()]*\)|`seq\b[^`]*`)"
_LOOP = re.compile(rb"\bfor[ \t]+(\w+)[ \t]+in((?:[ \t]+%b)+)[ \t]*(?:;|\n|$)" % _NUMBERS)
_COUNTING = re.compile(rb"\bfor[ \t]*\(\([ \t]*(\w+)[ \t]*=")
_ARRAY = re.compile(rb"\b(\w+)=\(((?:\s*[\"']?\d+[\"']?)+)\s*\)")
_NAME = re.compile(rb"[A-Za-z_]\w*")
# A command in a variable, and an option of it.
_COMMAND = re.compile(rb"""\b(\w+)=(["'])([^"'\n]* --[^"'\n]*)\2""")
_OPTION = re.compile(r"(?<!\S)(--[\w-]+)[ =]+([^\s-]\S*)")
# A count of one, the index of a GPU that is 0 or 1, or a list of one.
_ONE = re.compile(r"[01]|\d+,|\[\d+,?\]")
_ONE_GPU = ("--gpus", "1")


def one_gpu_variables(data: bytes) -> frozenset[str]:
    """The `*_VISIBLE_DEVICES` variables that a script only sets to one GPU, and those of commands that ask for one."""
    return _seeing_one(data) | _asking_for_one(data)


def _asking_for_one(data: bytes) -> frozenset[str]:
    """The variables that hold commands, each of which asks for one GPU."""
    asking: dict[str, bool] = {}
    for match in _COMMAND.finditer(data):
        name, command = match[1].decode(), match[3].decode("utf-8", "replace")
        asking[name] = asking.get(name, True) and _is_for_one(_OPTION.findall(command))
    return frozenset(name for name, is_for_one in asking.items() if is_for_one)


def _seeing_one(data: bytes) -> frozenset[str]:
    every = {match[1] for match in _ANY.finditer(data)}
    if not every:
        return frozenset()
    single = _single(data)
    alone = [match for match in _SET.finditer(data) if match[2].isdigit() or match[2].strip(b"${}") in single]
    places = {match.start() for match in alone}
    several = {match[1] for match in _ANY.finditer(data) if match.start() not in places}
    return frozenset(name.decode() for name in every - several)


def sees_one_gpu(
    command: Command, launcher: str, alone: Collection[str], front: Sequence[Word] = (), *, is_one: bool = False
) -> bool:
    """Whether an `accelerate launch` sees one GPU only: it starts one process per visible GPU.

    alone: see `one_gpu_variables`. front: the words of the command that runs it elsewhere. is_one: whether the launcher
    is told to start one process, perhaps by a variable that a user may change: one GPU confirms it.
    """
    if launcher != "accelerate launch" and not is_one:
        return False
    passed = [(name, value) for name, value, _ in options(front)]
    if _is_for_one(passed) or (front and front[0].raw.strip("${}") in alone and _is_for_one([*passed, _ONE_GPU])):
        return True
    seen = {each: command.environment[each] for each in VISIBLE if each in command.environment}
    return any(value.isdecimal() if value else value is None and name in alone for name, value in seen.items())


def _is_for_one(passed: Sequence[tuple[str, str]]) -> bool:
    """Whether these options ask for one GPU, on one machine."""
    counts = {value for name, value in passed if GPU_COUNT_ARGUMENT.fits(name)}
    nodes = {value for name, value in passed if NODE_COUNT_ARGUMENT.fits(name)}
    return counts == {"1"} and nodes <= {"1"}


def says_one_gpu(start: Start) -> bool:
    """Whether the arguments of a program that may start processes itself give it one GPU, on one machine."""
    counts = [value for name, value in _settings(start) if GPU_COUNT_ARGUMENT.fits(name)]
    return bool(counts) and all(map(_ONE.fullmatch, counts)) and starts_others_itself(start)


def starts_others_itself(start: Start) -> bool:
    """Whether a program that is given GPUs is started once, on one machine, and may start processes on them itself."""
    if not start.environment.keys().isdisjoint(RANK_VARIABLES) or any(each.name == "srun" for each in start.wrappers):
        return False
    passed = list(_settings(start))
    nodes = [value for name, value in passed if NODE_COUNT_ARGUMENT.fits(name)]
    given = [(name, value) for name, value in passed if LAUNCHER_ARGUMENT.fits(name) or GPU_COUNT_ARGUMENT.fits(name)]
    return set(nodes) <= {"1"} and bool(given) and all(_names_gpus(name, value) for name, value in given)


def _names_gpus(name: str, value: str) -> bool:
    """Whether an argument says how many GPUs, or lists several, so that it is none for each process: `--gpu 0,1`."""
    return GPU_COUNT_ARGUMENT.fits(name) or (GPU_INDEX_ARGUMENT.fits(name) and "," in value)


def _settings(start: Start) -> Iterator[tuple[str, str]]:
    """What a program is given: its options with their values, and the settings that it gets as `name=value`."""
    yield from ((name, value) for name, value, _ in options(start.arguments))
    for word in start.arguments:
        name, equals, value = (word.value or "").partition("=")
        if equals and not name.startswith("-"):
            yield name, value


def _single(data: bytes) -> set[bytes]:
    """The variables and array elements, as written, that hold a single number."""
    counted = {name for each in _ARITHMETIC.findall(data) for name in _NAME.findall(each)}
    counted |= {match[1] for found in (_LOOP, _COUNTING) for match in found.finditer(data)}
    arrays = {match[1] for match in _ARRAY.finditer(data)}
    elements = re.findall(rb"(\w+)(\[(?![@*])[^\]]*\])", data)
    return counted | {name + index for name, index in elements if name in arrays}
