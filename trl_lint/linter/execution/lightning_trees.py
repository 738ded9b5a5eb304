"""Whether anything in a tree may have Lightning run a model, or a `LightningModule` in it is only called.

All files count here: libraries show how to train in their tests, examples and notebooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from trl_lint import files
from trl_lint.knowledge.lightning_runs import may_run, runs_otherwise
from trl_lint.launch.parsers import readers
from trl_lint.linter.files.budget import Budget, TooLarge
from trl_lint.linter.files.discovery import PathProblem, find_files

# Limits of a search: files that are read, and names that are listed.
MOST_FILES = 4000
MOST_NAMES = 200_000


def may_run_lightning(top: Path) -> bool:
    """Whether a file below a folder may have Lightning run a model.

    Also if not all files were read, or if they do nothing else: a library's users may train in another tree.
    """
    budget, otherwise = Budget(_is_wanted, MOST_NAMES, MOST_FILES), False
    try:
        for content in _contents(top, budget):
            if content is None or may_run(content):
                return True
            otherwise = otherwise or runs_otherwise(content)
    except TooLarge:
        return True
    return not otherwise or budget.files <= 0


def _contents(top: Path, budget: Budget) -> Iterator[bytes | None]:
    """The contents of the files that may train or start a training; None for one that can't be read."""
    for path in find_files([top], wanted=budget.is_wanted):
        if isinstance(path, PathProblem):
            yield None
            return
        front = readers.front_end(path)
        try:
            yield files.read(path, readers.limit_of(front or ""))
        except OSError:
            yield None


def _is_wanted(name: str) -> bool:
    return readers.front_end(PurePath(name)) is not None
