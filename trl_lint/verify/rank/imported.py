"""The installed modules that the script has imported, for the fork server of later runs.

Recorded once the process group exists, as a rank that is stopped can't do so any more, and again at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from . import trace
from .call_stack import INSTALLED
from .job import Job

_FOLDERS = tuple(f"{os.sep}{name}{os.sep}" for name in INSTALLED)
# Variables of launchers, which may have been set before.
_OF_LAUNCHERS = ("ACCELERATE_", "TORCHELASTIC_")
_wanted: Job | None = None


def watch(job: Job) -> None:
    """Enable `record`, if the job requests it."""
    global _wanted
    _wanted = job if job.records_imports else None


def record() -> None:
    """Record the installed modules in the order of their import, and whether there is an accelerator."""
    if _wanted is not None:
        trace.write("imported", modules=list(_installed(_wanted)), accelerator=has_accelerator())


def variables(job: Job) -> dict[str, str]:
    """The variables that the launcher has set for this rank, for its other runs."""
    if not job.records_imports:
        return {}
    return {
        name: value
        for name, value in os.environ.items()
        if name not in job.launcher_variables or name.startswith(_OF_LAUNCHERS)
    }


def has_accelerator() -> bool:
    """Whether torch sees a device that a forked process could not use after its initialisation."""
    torch = sys.modules.get("torch")
    kinds = (getattr(torch, name, None) for name in ("cuda", "xpu", "npu", "mps", "hpu"))
    found = (getattr(kind, "is_available", None) for kind in kinds)
    return any(is_available() for is_available in found if is_available is not None)


def _installed(job: Job) -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        origin = getattr(spec, "origin", None) or ""
        is_own = isinstance(origin, str) and any(folder in origin for folder in _FOLDERS)
        if is_own and spec is not None and spec.name == name and origin not in job.user_files:
            yield name
