"""The order in which the files of a run are analysed: files that import others come before those.

    train.py    from hooks import Saver                 first: it creates a Saver from prepared objects
    hooks.py    class Saver: …                          then: the attributes of a Saver are known

The arguments of a class or function are known from its callers, most of them in other files. In import cycles, and
where there are no imports, the order is that of the paths. Tests come last: they replace parts of a training with test
doubles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from trl_lint.analysis.program.project.import_lines import imported_files
from trl_lint.analysis.program.project.project import Project

_TESTS = re.compile(rb"^(?:from|import)[ \t]+(?:pytest|unittest)\b", re.MULTILINE)


def importers_first(project: Project, sources: Mapping[Path, bytes]) -> list[tuple[Path, bytes]]:
    """The files with their contents, in the order in which to analyse them.

    They may import each other through one more file that is not analysed itself, such as a package's `__init__`.
    """
    tests = [path for path in sorted(sources) if _TESTS.search(sources[path])]
    seen = set(tests)
    found: list[Path] = []
    # Depth first; after the final reversal, imported files come after their importers.
    for start in sorted(sources, reverse=True):
        if start not in seen:
            seen.add(start)
            found += _imported_last(project, start, sources, seen)
    found.reverse()
    return [(path, sources[path]) for path in (*found, *tests) if path in sources]


def _imported_last(project: Project, start: Path, sources: Mapping[Path, bytes], seen: set[Path]) -> Iterator[Path]:
    """A file after the ones it imports, directly or not, except those already seen."""
    todo = [(start, imported_files(project, start, sources[start]))]
    while todo:
        path, imported = todo[-1]
        # The imports of a file that is not analysed are not followed: that could be all of a large library.
        others = imported if path in sources else filter(sources.__contains__, imported)
        other = next((each for each in others if each not in seen), None)
        if other is None:
            todo.pop()
            yield path
        else:
            seen.add(other)
            content = sources.get(other)
            todo.append((other, imported_files(project, other, project.text(other) if content is None else content)))
