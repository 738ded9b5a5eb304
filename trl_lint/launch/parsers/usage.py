"""What a program's own text says about how it is started: its docstring, the end of its help, a comment at its top.

    \"\"\"Train on all GPUs of a machine:

        accelerate launch --config_file zero2.yaml train.py --epochs 3
    \"\"\"

Only commands that name the program itself are read: it says little about how others are started.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePath

from trl_lint.launch.commands.commands import Command
from trl_lint.launch.parsers import readers

# In Python strings a continued line may end in two backslashes.
_CONTINUES = re.compile(rb"\\{1,2}\r?\n[ \t#]*")
# The beginning of such a command up to the name of the program, including variables set for it.
_BEGINNING = rb"(?:\b[A-Z_]+=\S+[ \t]+)*(?<![\w./-])(?:python[\d.]*|torchrun|accelerate|deepspeed|uv)[ \t][^\n\"'`]*?"
_END = rb"[^\n\"'`)]*"
_SHELL = PurePath("usage.sh")


def own_commands(path: PurePath, code: bytes) -> Iterator[Command]:
    """The commands in a program's text that start it."""
    name = os.fsencode(path.name)
    if code.count(name) == 0:
        return
    pattern = re.compile(_BEGINNING + rb"(?<![\w-])" + re.escape(name) + rb"(?!\w)" + _END)
    for found in pattern.finditer(_CONTINUES.sub(b" ", code)):
        yield from readers.all_commands(_SHELL, found[0])
