"""Launches that see one GPU, and so start one process, although a variable says which GPU.

For example:

    PORT=$((29500 + GPU_ID))                                     a variable in arithmetic is a single number
    CUDA_VISIBLE_DEVICES=$GPU_ID accelerate launch train.py

    for gpu in 0 1 2 3; do                                       so is a loop variable over numbers,
      CUDA_VISIBLE_DEVICES=$gpu accelerate launch train.py

    GPUS=(0 1 2 3)                                               or an element of an array of numbers
    CUDA_VISIBLE_DEVICES=${GPUS[$i]} accelerate launch train.py
"""

from __future__ import annotations

import re
from collections.abc import Collection

from trl_lint.launch.commands.commands import Command
from trl_lint.launch.judge.gpus import VISIBLE

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


def one_gpu_variables(data: bytes) -> frozenset[str]:
    """The `*_VISIBLE_DEVICES` variables that a script only ever sets to one GPU."""
    every = {match[1] for match in _ANY.finditer(data)}
    if not every:
        return frozenset()
    single = _single(data)
    alone = [match for match in _SET.finditer(data) if match[2].isdigit() or match[2].strip(b"${}") in single]
    places = {match.start() for match in alone}
    several = {match[1] for match in _ANY.finditer(data) if match.start() not in places}
    return frozenset(name.decode() for name in every - several)


def sees_one_gpu(command: Command, launcher: str, alone: Collection[str]) -> bool:
    """Whether an `accelerate launch` sees one GPU only: it starts one process per visible GPU.

    alone: the variables that its file only sets to one GPU.
    """
    if launcher != "accelerate launch":
        return False
    seen = {each: command.environment[each] for each in VISIBLE if each in command.environment}
    return any(value.isdecimal() if value else value is None and name in alone for name, value in seen.items())


def _single(data: bytes) -> set[bytes]:
    """The variables and array elements, as written, that hold a single number."""
    counted = {name for each in _ARITHMETIC.findall(data) for name in _NAME.findall(each)}
    counted |= {match[1] for found in (_LOOP, _COUNTING) for match in found.finditer(data)}
    arrays = {match[1] for match in _ARRAY.finditer(data)}
    elements = re.findall(rb"(\w+)(\[(?![@*])[^\]]*\])", data)
    return counted | {name + index for name, index in elements if name in arrays}
