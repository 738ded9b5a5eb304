"""Files: which ones this process puts in their place, under their final names.

Whoever writes a file that others read makes it under another name and renames it once it is whole, as the datasets
library does with its caches (datasets/arrow_dataset.py `Dataset._map_single`) and huggingface_hub with downloads. The
interpreter tells of each renaming (`os.rename`, `os.replace` and `shutil.move` raise the event `os.rename`).

Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import os
import sys

from . import call_stack, trace
from .job import Job

_RENAMED = "os.rename"
# Caches of compiled code: of these each process may make a copy, and any of them will do.
_COMPILED = (".pyc", ".so", ".cubin", ".ptx", ".ttir", ".ttgir", ".llir")
_COMPILERS = ("torchinductor", "triton")


def watch(job: Job) -> None:
    """From now on, tell of files that this process puts in their place; it can't be taken back."""

    def on_event(event: str, args: tuple[object, ...]) -> None:
        if event != _RENAMED or trace.current is None or not isinstance(args[1], (str, os.PathLike)):
            return
        file = os.path.abspath(args[1])
        if not file.endswith(_COMPILED) and not any(name in file for name in _COMPILERS):
            trace.write("placed", file=file, at=call_stack.current(job.user_files))

    sys.addaudithook(on_event)
