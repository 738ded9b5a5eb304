"""Heirs: files that name no library, but whose classes inherit from one in another file that wraps a model.

    core.py     class Agent:                                  analysed: it names the wrapper
                    def __init__(self, options):
                        self.model = DistributedDataParallel(self.build())
    t5.py       class T5Agent(Agent):                         an heir: it names no library, but reads from `self.model`,
                    def answer(self, batch):                  which is wrapped
                        return self.model.t5.generate(batch)

They are found by class names alone. Only those are analysed that read from an attribute of `self` that such a base
wraps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from trl_lint import files

# The limits on how many heirs are analysed, and on the size of each.
MOST_HEIRS = 40
MOST_BYTES = 400_000
# The longest inheritance chain, in classes, that is followed from the wrapping class.
MOST_STEPS = 6

# These are compiled when they are used: most runs need none of them.
# They begin with a plain word, which is found fast; what is before it is checked for each match.
_CLASS = rb"class[ \t]+(\w+)[ \t]*\(([^)]*)\)[ \t]*:"
_ANY_CLASS = rb"class[ \t]+(\w+)"
_OWN = rb"\bself\.(\w+)"
_WRAPS = rb"=\s*(?:[\w.]*(?:DataParallel|DDP)|[\w.]*\bprepare)\("
_WRAPPING_CALLS = (b"DataParallel(", b"DDP(", b"prepare(")
# The last name of each base; `metaclass=…` is not one.
_BASE = rb"(\w+)\s*(?:\[[^\]]*\])?\s*(?:,|$)"
# The target of an assignment is searched for in so many bytes before the call.
_NEAR = 200

# The classes of a file, each with the names of its bases.
Classes = tuple[tuple[bytes, tuple[bytes, ...]], ...]


def classes_of(source: bytes) -> Classes:
    """The classes of a file that have bases."""
    if b"class " not in source:
        return ()
    return tuple((each[1], tuple(re.findall(_BASE, each[2]))) for each in _in_lines_of_their_own(_CLASS, source))


def _in_lines_of_their_own(pattern: bytes, source: bytes) -> Iterator[re.Match[bytes]]:
    """The matches of a pattern that have only blanks before them in their line."""
    for found in re.finditer(pattern, source):
        if not source[source.rfind(b"\n", 0, found.start()) + 1 : found.start()].strip(b" \t"):
            yield found


class Heirs:
    """The heirs among the skipped files. classes: of all skipped files. contents: of those that are analysed."""

    def __init__(self) -> None:
        self.classes: dict[Path, Classes] = {}
        self.contents: dict[Path, bytes] = {}

    def skim(self, path: Path, source: bytes) -> None:
        """Note the classes of a skipped file."""
        classes = classes_of(source) if path.suffix == ".py" else ()
        if classes:
            self.classes[path] = classes

    def of(self, matter: Mapping[Path, bytes]) -> dict[Path, bytes]:
        """The heirs of the files that are analysed, with their contents."""
        self.contents = heirs(matter, self.classes)
        return self.contents


def heirs(matter: Mapping[Path, bytes], passed_over: Mapping[Path, Classes]) -> dict[Path, bytes]:
    """The skipped files that are heirs of the analysed ones, with their contents."""
    wrapping = {path: names for path, source in matter.items() if (names := _wrapped_in(source))}
    if not wrapping or not passed_over:
        return {}
    names = frozenset[bytes]().union(*wrapping.values())
    below = _with_heirs(
        {name for path in wrapping for name in _defined_in(matter[path])},
        [each for path in matter for each in classes_of(matter[path])]
        + [each for classes in passed_over.values() for each in classes],
    )
    inheriting = (
        (path, source)
        for path, classes in sorted(passed_over.items())
        if any(not below.isdisjoint(bases) for _, bases in classes) and _names_any(names, source := _read(path))
    )
    return dict(islice(_reading(names, inheriting), MOST_HEIRS))


def _names_any(attributes: Iterable[bytes], source: bytes) -> bool:
    """Whether a file mentions one of these attributes of `self`: a quick test that needs no knowledge of wrappers."""
    return any(b"self.%b." % name in source for name in attributes)


def _reading(attributes: Iterable[bytes], sources: Iterable[tuple[Path, bytes]]) -> Iterator[tuple[Path, bytes]]:
    """The files that read from one of these attributes of `self` something that a wrapper does not have."""
    reads: re.Pattern[bytes] | None = None
    for path, source in sources:
        from trl_lint.analysis.program.project.source_text import code_of

        reads = reads or _reads_of(attributes)
        if reads.search(source) and reads.search(code_of(source)):
            yield path, source


def _reads_of(names: Iterable[bytes]) -> re.Pattern[bytes]:
    """A pattern for reads from these attributes of `self` of something that a wrapper does not have."""
    from trl_lint.knowledge.library import WRAPPER_ATTRIBUTES
    from trl_lint.knowledge.models import INNER_MODEL

    harmless = (each.encode() for each in sorted({*WRAPPER_ATTRIBUTES, INNER_MODEL}))
    return re.compile(rb"\bself\.(?:%b)\.(?!(?:%b)\b)\w" % (b"|".join(sorted(names)), b"|".join(harmless)))


def _wrapped_in(source: bytes) -> frozenset[bytes]:
    """The attributes of `self` to which a file assigns what it wraps."""
    found = set[bytes]()
    if not any(call in source for call in _WRAPPING_CALLS):
        return frozenset()
    for wraps in re.finditer(_WRAPS, source):
        statement = re.split(rb"\n\s*\n|=", source[max(0, wraps.start() - _NEAR) : wraps.start()])[-1]
        found.update(re.findall(_OWN, statement))
    return frozenset(found)


def _defined_in(source: bytes) -> Iterator[bytes]:
    for each in _in_lines_of_their_own(_ANY_CLASS, source):
        yield each[1]


def _with_heirs(names: set[bytes], classes: Iterable[tuple[bytes, tuple[bytes, ...]]]) -> frozenset[bytes]:
    """These class names, with those of the classes that inherit from them, directly or indirectly."""
    every = list(classes)
    for _ in range(MOST_STEPS):
        new = {name for name, bases in every if name not in names and not names.isdisjoint(bases)}
        if not new:
            break
        names = names | new
    return frozenset(names)


def _read(path: Path) -> bytes:
    """The content of a file; empty if it cannot be read or is too large."""
    try:
        return files.read(path) if files.size(path) <= MOST_BYTES else b""
    except (OSError, ValueError):
        return b""
