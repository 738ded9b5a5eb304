"""Settings of a program that show whether several processes run it; see `transfer/processes/job_flags.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo


class JobFlags:
    """attributes: the settings, by attribute name. names: those that are a name in a function (or module).

    counts: the attributes that hold a number of processes or GPUs greater than one. starters: the functions that start
    the process group. alone: the attributes that are false if there are several processes.
    """

    def __init__(self) -> None:
        self.attributes: set[str] = set()
        self.names: set[tuple[FunctionInfo | None, str]] = set()
        self.counts: set[str] = set()
        self.alone: set[str] = set()
        self.starters: set[FunctionInfo] = set()
