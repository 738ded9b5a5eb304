"""Files: which ones this process puts in their place, under their final names.

Whoever writes a file that others read makes it under another name and renames it once it is whole, as the datasets
library does with its caches (datasets/arrow_dataset.py `Dataset._map_single`) and huggingface_hub with downloads. The
interpreter tells of each renaming (`os.rename`, `os.replace` and `shutil.move` raise the event `os.rename`).

Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import os
import sys
from typing import Any

from . import places, trace
from .job import Job

_RENAMED = "os.rename"


def watch(job: Job) -> None:
    """From now on, tell of files that this process puts in their place; it can't be taken back."""

    def told(event: str, args: tuple[Any, ...]) -> None:
        if event == _RENAMED and trace.current is not None and isinstance(args[1], (str, os.PathLike)):
            trace.write("placed", file=os.path.abspath(args[1]), at=places.here(job.root))

    sys.addaudithook(told)
