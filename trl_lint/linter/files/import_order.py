"""In which order the files of a run are analysed: those that import others come before these.

    train.py    from hooks import Saver                 first: it makes a Saver of what it has prepared
    hooks.py    class Saver: …                          then: what a Saver is made of is known

What a class or a function is given is said by those who make and call it, most of them in another file. Where files
import each other in a circle, and where nothing is said, the order is that of their paths. Tests come last: they put
their own doubles in the place of what a training is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from trl_lint.analysis.program.project.import_lines import imported_files
from trl_lint.analysis.program.project.project import Project

_TESTS = re.compile(rb"^(?:from|import)[ \t]+(?:pytest|unittest)\b", re.MULTILINE)


def importers_first(project: Project, sources: Mapping[Path, bytes]) -> list[tuple[Path, bytes]]:
    """The files with their contents in the order in which they are to be analysed.

    They may import each other through one more file that needs no analysis of its own, such as a package's.
    """
    tests = [path for path in sorted(sources) if _TESTS.search(sources[path])]
    seen = set(tests)
    found: list[Path] = []
    # Depth first: what a file imports is behind it once the order is turned round.
    for start in sorted(sources, reverse=True):
        if start not in seen:
            seen.add(start)
            found += _imported_last(project, start, sources, seen)
    found.reverse()
    return [(path, sources[path]) for path in (*found, *tests) if path in sources]


def _imported_last(project: Project, start: Path, sources: Mapping[Path, bytes], seen: set[Path]) -> Iterator[Path]:
    """A file behind those that it imports, themselves or through others, and that are not among those seen."""
    todo = [(start, imported_files(project, start, sources[start]))]
    while todo:
        path, imported = todo[-1]
        # What lies behind a file that is not analysed is not looked through: that would be all of a large library.
        others = imported if path in sources else filter(sources.__contains__, imported)
        other = next((each for each in others if each not in seen), None)
        if other is None:
            todo.pop()
            yield path
        else:
            seen.add(other)
            content = sources.get(other)
            todo.append((other, imported_files(project, other, project.text(other) if content is None else content)))
