"""Heirs: files that name no library, but whose classes inherit from one in another file that wraps a model or logs.

    core.py     class Agent:                                  analysed: it names the wrapper
                    def __init__(self, options):
                        self.model = DistributedDataParallel(self.build())
    t5.py       class T5Agent(Agent):                         an heir: it names no library, but reads from `self.model`,
                    def answer(self, batch):                  which is wrapped
                        return self.model.t5.generate(batch)

    base.py     class Base(LightningModule):                  it names Lightning
    unet.py     class Unet(Base):                             an heir: it names no library, but its `log` is Lightning's
                    def validation_step(self, batch, index):
                        self.log("val_loss", self.loss(batch))

    shared.py   class Shared(pl.loggers.Logger):              it names Lightning
    table.py    class Table(Shared):                          an heir: Lightning calls its `finalize` on each process
                    def finalize(self, status): ...

They are found by class names alone. Only those are analysed that read from an attribute of `self` that such a base
wraps, that log, or that are loggers.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from trl_lint import files
from trl_lint.linter.files.receivers import called_by_trainer, returning_wrapped
from trl_lint.linter.files.starting_programs import called_by_program, starting_processes

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
# The classes of a library whose heirs log by a method of theirs, or write in what the library calls, with that.
_LOGS: Mapping[bytes, tuple[bytes, ...]] = {
    b"LightningModule": (b"self.log(", b"self.log_dict("),
    b"Logger": (b"def finalize(", b"def log_metrics("),
}
# The last name of each base; `metaclass=…` is not one.
_BASE = rb"(\w+)\s*(?:\[[^\]]*\])?\s*(?:,|$)"
# The target of an assignment is searched for in so many bytes before the call.
_NEAR = 200

# A class with the names of its bases; those of a file.
Class = tuple[bytes, tuple[bytes, ...]]
Classes = tuple[Class, ...]


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
    """The heirs, the receivers and the programs among the skipped files.

    classes: of all skipped files. called: what each skipped file imports and calls, if it trains. of_programs: the
    same, if it is a program. contents: of those that are analysed. only_passing: those of them that
    are analysed for what they pass on, and for nothing that they do themselves.
    """

    def __init__(self) -> None:
        self.classes: dict[Path, Classes] = {}
        self.called: dict[Path, tuple[bytes, ...]] = {}
        self.of_programs: dict[Path, tuple[bytes, ...]] = {}
        self.contents: dict[Path, bytes] = {}
        self.only_passing: frozenset[Path] = frozenset()

    def skim(self, path: Path, source: bytes) -> None:
        """Note the classes of a skipped file, and what it calls."""
        if path.suffix != ".py":
            return
        if classes := classes_of(source):
            self.classes[path] = classes
        if called := called_by_trainer(source):
            self.called[path] = called
        if passed := called_by_program(source):
            self.of_programs[path] = passed

    def of(self, matter: Mapping[Path, bytes]) -> dict[Path, bytes]:
        """The heirs, receivers and programs of the files that are analysed, with their contents."""
        taking, passing = heirs(matter, self.classes) | self._receivers(matter), self._programs(matter)
        self.contents, self.only_passing = taking | passing, frozenset(passing.keys() - taking.keys())
        return self.contents

    def _receivers(self, matter: Mapping[Path, bytes]) -> dict[Path, bytes]:
        functions = returning_wrapped(matter.values()) if self.called else frozenset()
        return _calling(functions, self.called)

    def _programs(self, matter: Mapping[Path, bytes]) -> dict[Path, bytes]:
        classes = chain.from_iterable(self.classes.values())
        functions = starting_processes(matter.values(), classes) if self.of_programs else frozenset()
        return _calling(functions, self.of_programs)


def _calling(functions: frozenset[bytes], called: Mapping[Path, tuple[bytes, ...]]) -> dict[Path, bytes]:
    """The files that call one of these functions, with their contents. called: what each file calls."""
    calling = (path for path, names in sorted(called.items()) if not functions.isdisjoint(names))
    return {path: source for path in islice(calling, MOST_HEIRS) if (source := files.read_small(path, MOST_BYTES))}


def heirs(matter: Mapping[Path, bytes], passed_over: Mapping[Path, Classes]) -> dict[Path, bytes]:
    """The skipped files that are heirs of the analysed ones, with their contents."""
    if not passed_over:
        return {}
    wrapping = {path: names for path, source in matter.items() if (names := _wrapped_in(source))}
    if not wrapping and not _may_log(matter, passed_over):
        return {}
    classes = [each for path in matter for each in classes_of(matter[path])]
    classes += [each for found in passed_over.values() for each in found]
    chained = chain(_of_wrapping(wrapping, matter, passed_over, classes), _of_logging(passed_over, classes))
    return dict(islice(chained, MOST_HEIRS))


def _may_log(matter: Mapping[Path, bytes], passed_over: Mapping[Path, Classes]) -> bool:
    """Whether a class may inherit from the one whose heirs log."""
    bases = (base for found in passed_over.values() for _, each in found for base in each)
    return any(name in source for source in matter.values() for name in _LOGS) or not _LOGS.keys().isdisjoint(bases)


def _of_wrapping(
    wrapping: Mapping[Path, frozenset[bytes]],
    matter: Mapping[Path, bytes],
    passed_over: Mapping[Path, Classes],
    classes: Sequence[Class],
) -> Iterator[tuple[Path, bytes]]:
    """The skipped files that read from what a class of an analysed file wraps. wrapping: what each wraps."""
    names = frozenset[bytes]().union(*wrapping.values())
    below = _with_heirs({name for path in wrapping for name in _defined_in(matter[path])}, classes)
    inheriting = ((path, files.read_small(path, MOST_BYTES)) for path in _inheriting(below, passed_over))
    return _reading(names, (each for each in inheriting if _names_any(names, each[1])))


def _of_logging(passed_over: Mapping[Path, Classes], classes: Sequence[Class]) -> Iterator[tuple[Path, bytes]]:
    """The skipped files whose classes log by a method that a class of a library has, or that it calls."""
    for name, methods in _LOGS.items():
        for path in _inheriting(_with_heirs({name}, classes), passed_over):
            source = files.read_small(path, MOST_BYTES)
            if any(each in source for each in methods):
                yield path, source


def _inheriting(names: Container[bytes], passed_over: Mapping[Path, Classes]) -> Iterator[Path]:
    """The skipped files with a class that has one of these as a base."""
    for path, classes in sorted(passed_over.items()):
        if any(base in names for _, bases in classes for base in bases):
            yield path


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


def _with_heirs(names: set[bytes], classes: Sequence[Class]) -> frozenset[bytes]:
    """These class names, with those of the classes that inherit from them, directly or indirectly."""
    for _ in range(MOST_STEPS if names else 0):
        new = {name for name, bases in classes if name not in names and not names.isdisjoint(bases)}
        if not new:
            break
        names = names | new
    return frozenset(names)
