"""Runs of methods before the constructor of their class has run, because the file that makes an object comes later.

    use.py     def begin(trainer: Base):             analysed first
                   trainer.initialize()              which asks `if self.is_ddp:`: nothing is known of it yet
    make.py    Base(args)                            now `Base.__init__` runs

What such a run has left in attributes would stay, and hide what is known in later runs: it is repeated.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from trl_lint.analysis.interprocedural.summaries import Summary
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo

# What callers have noted in the trace of a run.
_NOTED = (
    "launched",
    "of_all_ranks",
    "of_some_ranks",
    "shown_at",
    "entered_by_each",
    "start",
    "trains",
    "builds",
    "steps",
)


def to_repeat(cls: ClassInfo) -> list[tuple[FunctionInfo, Any, Summary]]:
    """The runs of methods on a class before its constructor, with their keys; none if it has still not run."""
    methods = {id(each): each for each in cls.project_methods()}
    early = [(each, key, run) for each in methods.values() for key, run in each.summaries.items() if run.early is cls]
    if not early or (cls.awaits_constructor and not _is_constructed(cls)):
        return []
    cls.awaits_constructor = False
    return early


def _is_constructed(cls: ClassInfo) -> bool:
    """Whether a constructor has run on the class or a base, or for one of the places where objects are made."""
    constructor = cls.find("__init__")
    places = (each for base in cls.project_lineage() for each in base.with_allocation_sites())
    return constructor is not None and any(map(constructor.has_run_on, places))


def replace(run: Summary, by: Summary) -> None:
    """Let a run be a later one for those who have called it."""
    for name in _NOTED:
        setattr(by.trace, name, getattr(by.trace, name) or getattr(run.trace, name))
    for each in fields(run):
        setattr(run, each.name, getattr(by, each.name))
