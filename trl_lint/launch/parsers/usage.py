"""What a program's own text says of how it is started: its docstring, the end of its help, a comment at its top.

    \"\"\"Train on all GPUs of a machine:

        accelerate launch --config_file zero2.yaml train.py --epochs 3
    \"\"\"

Only commands that name the program itself are read: it says little of how others are started.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePath

from trl_lint.launch.commands.commands import Command
from trl_lint.launch.parsers import readers

# In strings of Python a line that goes on in the next one may end in two of them.
_GOES_ON = re.compile(rb"\\{1,2}\r?\n[ \t#]*")
# What such a command begins with, variables set for it alone included, up to the name of the program.
_BEGINNING = rb"(?:\b[A-Z_]+=\S+[ \t]+)*(?<![\w./-])(?:python[\d.]*|torchrun|accelerate|deepspeed|uv)[ \t][^\n\"'`]*?"
_END = rb"[^\n\"'`)]*"
_SHELL = PurePath("usage.sh")


def own_commands(path: PurePath, code: bytes) -> Iterator[Command]:
    """The commands in the text of a program that start it."""
    name = os.fsencode(path.name)
    if code.count(name) == 0:
        return
    pattern = re.compile(_BEGINNING + rb"(?<![\w-])" + re.escape(name) + rb"(?!\w)" + _END)
    for found in pattern.finditer(_GOES_ON.sub(b" ", code)):
        yield from readers.all_commands(_SHELL, found[0])
