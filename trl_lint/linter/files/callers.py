"""Files that are analysed as well because they import what is linted: callers determine the arguments of a function.

    trainer.py    class MyTrainer(Trainer): …                     linted alone, it gets the same findings as in a run
    train.py      with main_process_first(): MyTrainer(data)      on all files: this file is analysed first, but
                                                                  its own findings are not reported

So an editor, a commit hook and a run on the whole project report the same findings for a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint import files
from trl_lint.linter.files.budget import Budget, TooLarge
from trl_lint.linter.files.discovery import PathProblem, find_files, is_of_tests
from trl_lint.linter.files.starting_programs import StartedPrograms
from trl_lint.linter.store.cache import digest
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.import_search import ImportSearch

# Limits: Python files of a project that are searched, names that are listed, and importing files that are analysed.
MOST_FILES = 2000
MOST_NAMES = 50_000
MOST_CALLERS = 12
# The most bytes of all callers together; a larger file is no program that trains something.
MOST_BYTES = 400_000
# The longest chain of callers that is followed.
MOST_STEPS = 3


class CallerSearch:
    """A search in a project for the files that import the linted ones, directly or through others.

    Tests are no callers: they replace parts of a training with test doubles. If a project has more files than the
    limit, it has no callers.

    roots: as returned by `discovery.import_roots`, the project's folder first. Attributes:
        others: The Python files of the project that are not linted, with their contents; dropped by the search.
        digest: A digest of their names and contents; "" if there are none.
        exists: Whether a file exists, for all paths that the search asked for. With these, the same files have the same
            callers.
    """

    def __init__(self, settings: Settings, roots: Sequence[Path], linted: Mapping[Path, bytes]) -> None:
        self._roots = roots
        self._linted = linted
        # Nothing imports a text that is not saved yet.
        self.others = _contents(settings, roots[0], linted) if any(map(os.path.isfile, linted)) else {}
        self.digest = _digest(self.others) if self.others else ""
        self.exists: dict[str, bool] = {}

    def callers(self, may_matter: Callable[[bytes], bool]) -> dict[Path, bytes]:
        """The files found, with their contents. may_matter: whether the analysis can find anything in a content."""
        if not self.others:
            return {}
        from trl_lint.analysis.program.project.import_search import ImportSearch

        search = ImportSearch(self._roots)
        programs = StartedPrograms({**self.others, **self._linted})
        found: dict[Path, bytes] = {}
        called: Collection[Path] = self._linted
        room = MOST_BYTES
        for _ in range(MOST_STEPS):
            importing = list(_importing(search, self.others, called))
            for path in importing:
                content = self.others.pop(path)
                is_wanted = may_matter(content) or programs.have(content)
                if is_wanted and len(content) <= room and len(found) < MOST_CALLERS:
                    found[path] = content
                    room -= len(content)
            if not importing or len(found) == MOST_CALLERS:
                break
            called = importing
        self.others.clear()
        self.exists = search.exists
        return found


def _digest(contents: Mapping[Path, bytes]) -> str:
    return digest(repr([(str(path), digest(content)) for path, content in contents.items()]).encode())


def _contents(settings: Settings, top: Path, linted: Collection[Path]) -> dict[Path, bytes]:
    """The Python files of a project that are not linted; none if there are too many."""
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
        if path.suffix != ".py" or path in linted or is_of_tests(path.parent, top):
            continue
        if content := files.read_small(path, MOST_BYTES):
            found[path] = content
    return found


def _importing(search: ImportSearch, others: Mapping[Path, bytes], called: Collection[Path]) -> Iterator[Path]:
    """The other files that import one of the called files."""
    from trl_lint.analysis.program.project.import_lines import imported_files

    names = {path.parent.name if path.stem == "__init__" else path.stem for path in called}
    named = re.compile(rb"\b(?:%b)\b" % b"|".join(re.escape(os.fsencode(each)) for each in sorted(names)))
    for path, content in others.items():
        if named.search(content) and any(each in called for each in imported_files(search, path, content)):
            yield path
