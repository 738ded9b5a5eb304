"""The settings of a program that say whether it is run by several processes; see `transfer/processes/job_flags.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo


class JobFlags:
    """attributes: the settings by the name of their attribute. names: those by their name in a function (or module).

    counts: the attributes that hold a number of processes or GPUs, which is more than one. starters: the functions that
    start the group.
    """

    def __init__(self) -> None:
        self.attributes: set[str] = set()
        self.names: set[tuple[FunctionInfo | None, str]] = set()
        self.counts: set[str] = set()
        self.starters: set[FunctionInfo] = set()
