"""Which programs may run a file: those that import it, directly or through other files, as far as names tell.

    train.py     from lib.trainer import MyTrainer      train.py may run lib/trainer.py,
    trainer.py   from . import losses                   and lib/losses.py through it

A name may stand for several files: all that may be meant are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]*)|import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*))",
    re.MULTILINE,
)
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Importer:
    """A Python file of a project: its path, what it imports (see `imported`), and whether it is a program."""

    path: str
    imports: tuple[str, ...]
    program: bool


def imported(code: bytes) -> frozenset[str]:
    """The own names of the modules that code imports, and the names that it takes out of them: they may be modules."""
    names: set[str] = set()
    for module, taken, plain in _IMPORT.findall(code):
        for each in (module, *plain.split(b",")):
            names.add(each.decode().strip().rpartition(".")[2])
        names.update(_NAME.findall(taken.decode()))
    return frozenset(names - {""})


def programs_of(path: str, importers: Collection[Importer]) -> frozenset[str]:
    """The programs that may run a file."""
    by_name = _by_name(importers)
    found: set[str] = set()
    waiting, seen = [_name_of(path)], {_name_of(path)}
    while waiting:
        for importer in by_name.get(waiting.pop(), ()):
            if importer.program:
                found.add(importer.path)
            name = _name_of(importer.path)
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return frozenset(found)


def _by_name(importers: Iterable[Importer]) -> Mapping[str, list[Importer]]:
    found: dict[str, list[Importer]] = {}
    for each in importers:
        for name in each.imports:
            found.setdefault(name, []).append(each)
    return found


def _name_of(path: str) -> str:
    """What a file is imported as."""
    where = PurePosixPath(path)
    return where.parent.name if where.stem == "__init__" else where.stem
