"""In which order the files of a run are analysed: those that import others come before these.

    train.py    from hooks import Saver                 first: it makes a Saver of what it has prepared
    hooks.py    class Saver: …                          then: what a Saver is made of is known

What a class or a function is given is said by those who make and call it, most of them in another file. Where files
import each other in a circle, and where nothing is said, the order is that of their paths. Tests come last: they put
their own doubles in the place of what a training is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trl_lint.analysis.program.project import Project

# `from a.b import c, d`, `from . import (c, d)` and `import a.b as c, d`, at the start of a line.
_IMPORTS = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<base>[.\w]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#]*)"
    rb"|import[ \t]+(?P<whole>[^\n#]*))",
    re.MULTILINE,
)
_TESTS = re.compile(rb"^(?:from|import)[ \t]+(?:pytest|unittest)\b", re.MULTILINE)
_NAME = re.compile(rb"\w+(?:\.\w+)*")
_RENAMED = re.compile(rb"\s+as\s+\w+")


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
    todo = [(start, _imported(project, start, sources[start]))]
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
            todo.append((other, _imported(project, other, project.text(other) if content is None else content)))


def _imported(project: Project, path: Path, source: bytes) -> Iterator[Path]:
    """The files of the project that a file imports."""
    own = project.name_of(path).split(".")
    package = own if path.name == "__init__.py" else own[:-1]
    for match in _IMPORTS.finditer(source):
        if match["whole"] is not None:
            names = [name.decode() for name in _NAME.findall(_RENAMED.sub(b"", match["whole"]))]
            yield from filter(None, (project.find_from(name, path) for name in names))
            continue
        base = _absolute(match["base"].decode(), package)
        file = path if base == ".".join(own) else project.find_from(base, path)
        if file is None:
            continue
        if file != path:
            yield file
        for name in _NAME.findall(_RENAMED.sub(b"", match["names"])):
            below = project.below(file, name.decode())
            if below is not None:
                yield below


def _absolute(base: str, package: Sequence[str]) -> str:
    """The name of what `from ..base import` means in a package, in full."""
    own = base.lstrip(".")
    level = len(base) - len(own)
    return ".".join([*(package[: len(package) - level + 1] if level else ()), *([own] if own else ())])
