"""Which starts in the files of a project are those of a program: the paths that commands name, and what they refer to.

    scripts/run.sh     torchrun train.py            train.py, next to the folder `scripts`, and other/train.py is not
    a/README.md        torchrun src/train.py        a/src/train.py, which is there
    a/run.sh           torchrun lib/a/train.py      a/train.py, of a project that was published without `lib`
    scripts/run.sh     python -m package            src/package/__main__.py
    run.ipynb          python /content/me/train.py  train.py, if there is only one

Each start is compared with the programs of the same file name only, once per project: a project may have a hundred
copies of a script, with a command for each of them, and all of its files are asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from heapq import merge
from itertools import groupby
from pathlib import PurePosixPath
from typing import Generic, NamedTuple, Protocol, TypeVar


class StartsProgram(Protocol):
    """A command that starts a program, by its path as the command names it."""

    @property
    def program(self) -> str: ...


class ProgramStart(NamedTuple):
    """A start of which nothing but the program is known."""

    program: str


StartT = TypeVar("StartT", bound=StartsProgram)
Parts = tuple[str, ...]


class _Named(NamedTuple):
    """The path of a program in a command. parts: without what has no name. folder: of the file with the command."""

    parts: Parts
    folder: Parts
    is_from_root: bool  # of a disk, or of an unknown folder

    def fits(self, program: Parts, *, is_package: bool = False, is_only: bool = False) -> bool:
        """Whether it refers to a program, if no file is at that path.

        The path has to match the end of the program's path; if it is only a name, one of the two folders must contain
        the other, because `bash scripts/run.sh` is typed next to the program. Of a path below an unknown folder,
        `$CODE/train.py`, the name is all there is. An absolute path on somebody's disk is longer than the program's
        own. So is one from a folder that was not published: `scripts/agent/train.py`, where all there is is `agent`.

        is_package: whether the program is a package's `__main__.py`, which is imported from wherever it is installed.
        is_only: whether no other file has its name, so that a path on a disk, however long, means it.
        """
        parts = self.parts
        is_meant = is_package or len(parts) > 1 or self.is_from_root or _is_either_around(self.folder, program[:-1])
        if is_meant and program[-len(parts) :] == parts:
            return True
        return (len(program) > 1 or (is_only and self.is_from_root)) and parts[-len(program) :] == program


class StartsOfPrograms(Generic[StartT]):
    """The starts in the files of a project, in their order, by the program that they name.

    A file that exists at the path that a command names, from the folder of the file with the command, decides.
    """

    def __init__(self, starts: Iterable[tuple[str, StartT]], code: Collection[str]) -> None:
        """starts: each with the path of its file. code: the paths of the Python files of the project."""
        self._starts = list(starts)
        self._there: dict[str, list[int]] = {}  # by the file that is there
        self._by_name: dict[str, list[tuple[int, _Named]]] = {}  # the others, by the name of the program
        self._of: dict[str, list[int]] = {}
        self._same_name = Counter(PurePosixPath(each).name for each in code)
        for number, (file, start) in enumerate(self._starts):
            parts = parts_of(start.program)
            if not parts:
                continue
            folder = PurePosixPath(file).parent
            there = str(folder.joinpath(*parts))
            if there in code:
                self._there.setdefault(there, []).append(number)
            else:
                named = _Named(parts, folder.parts, start.program.startswith("/"))
                self._by_name.setdefault(parts[-1], []).append((number, named))

    def of(self, programs: Iterable[str]) -> list[tuple[str, StartT]]:
        """The starts of one of these programs, each with the path of the file that has it."""
        numbers = merge(*map(self._numbers_of, programs))
        return [self._starts[number] for number, _ in groupby(numbers)]

    def _numbers_of(self, program: str) -> list[int]:
        if program not in self._of:
            found = set(self._there.get(program, ()))
            for parts in spellings(program):
                named = self._by_name.get(parts[-1], ())
                is_package = parts[-1] != PurePosixPath(program).name
                is_only = self._same_name[parts[-1]] == 1
                found |= {each for each, start in named if start.fits(parts, is_package=is_package, is_only=is_only)}
            self._of[program] = sorted(found)
        return self._of[program]


def spellings(program: str) -> list[Parts]:
    """A program as commands name it, in parts: `python -m package` starts `package/__main__.py`."""
    path = PurePosixPath(program)
    if path.name == "__main__.py" and path.parent.name:
        return [path.parts, path.parent.with_suffix(".py").parts]
    return [path.parts]


def parts_of(path: str) -> Parts:
    """The folders and the name of a path in a command, without "", "." and ".."."""
    return tuple(each for each in path.split("/") if each not in ("", ".", ".."))


@lru_cache(maxsize=1 << 14)
def folder_of(name: str) -> PurePosixPath:
    """The folder of a file."""
    return PurePosixPath(name).parent


def is_around(outer: PurePosixPath, inner: PurePosixPath) -> bool:
    """Whether a folder is another one or contains it."""
    return inner.parts[: len(outer.parts)] == outer.parts


def _is_either_around(one: Parts, other: Parts) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]
