"""Files that are analysed as well, since they import what is linted: those who call a function say what it is given.

    trainer.py    class MyTrainer(Trainer): …                     what is said of it when it is linted alone is what
    train.py      with main_process_first(): MyTrainer(data)      is said in a run on all files: this one is analysed
                                                                  before it, and nothing is said of it

An editor, a hook for commits and a run on the whole project then tell the same of a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from trl_lint import files
from trl_lint.analysis.program.project.import_lines import imported_files
from trl_lint.analysis.program.project.import_search import ImportSearch
from trl_lint.knowledge.heuristics import TEST_FOLDER
from trl_lint.linter.files.budget import Budget, TooLarge
from trl_lint.linter.files.discovery import PathProblem, find_files
from trl_lint.settings import Settings

# So many Python files of a project are looked through, out of so many names, and so many of those that import
# something are analysed.
MOST_FILES = 2000
MOST_NAMES = 50_000
MOST_CALLERS = 12
# So large they may be together, in bytes; one that is larger than the second is no program that trains something.
MOST_BYTES = 400_000
# A file is called by another, which is called by a third: so far they are followed.
MOST_STEPS = 3


def callers(
    settings: Settings, roots: Sequence[Path], linted: Mapping[Path, bytes], may_matter: Callable[[bytes], bool]
) -> dict[Path, bytes]:
    """The files of a project that import those that are linted, directly or through others, with their contents.

    roots: as `discovery.import_roots` gives them, the project's folder first. may_matter: whether the analysis can find
    anything in a content. Tests are no callers: they put their own doubles in the place of what a training is made of.
    Of a project with more files than are looked through there are none.
    """
    if not any(map(os.path.isfile, linted)):
        return {}  # a text that is not saved yet is imported by nobody
    others = _contents(settings, roots[0], linted)
    search = ImportSearch(roots)
    found: dict[Path, bytes] = {}
    called: Collection[Path] = linted
    room = MOST_BYTES
    for _ in range(MOST_STEPS):
        importing = list(_importing(search, others, called))
        for path in importing:
            content = others.pop(path)
            if may_matter(content) and len(content) <= room and len(found) < MOST_CALLERS:
                found[path] = content
                room -= len(content)
        if not importing or len(found) == MOST_CALLERS:
            break
        called = importing
    return found


def _contents(settings: Settings, top: Path, linted: Collection[Path]) -> dict[Path, bytes]:
    """The Python files of a project that are not linted; none of one that has too many."""
    budget = Budget(lambda name: name.endswith(".py"), MOST_NAMES, MOST_FILES + 1)
    walk = find_files([top], root=settings.root, exclude=settings.exclude, wanted=budget.is_wanted)
    try:
        paths = [path for path in walk if not isinstance(path, PathProblem)]
    except TooLarge:
        return {}
    if not budget.files:
        return {}
    found: dict[Path, bytes] = {}
    for path in paths:
        is_test = any(TEST_FOLDER.fits(part) for part in path.relative_to(top).parts[:-1])
        if path.suffix == ".py" and path not in linted and not is_test and (content := _read(path)):
            found[path] = content
    return found


def _read(path: Path) -> bytes:
    """What is in a file; nothing where it can't be read or is too large."""
    try:
        return files.read(path) if files.size(path) <= MOST_BYTES else b""
    except (OSError, ValueError):
        return b""


def _importing(search: ImportSearch, others: Mapping[Path, bytes], called: Collection[Path]) -> Iterator[Path]:
    """Those of the other files that import one of the files called."""
    names = {path.parent.name if path.stem == "__init__" else path.stem for path in called}
    named = re.compile(rb"\b(?:%b)\b" % b"|".join(re.escape(os.fsencode(each)) for each in sorted(names)))
    for path, content in others.items():
        if named.search(content) and any(each in called for each in imported_files(search, path, content)):
            yield path
