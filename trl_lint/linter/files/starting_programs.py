"""Programs that name no library, but whose processes a function or a class of another file starts.

    train.py    def run_training(config, folder):             analysed: it starts the process group
                    init_process_group("nccl")
                    torch.save(config, f"{folder}/config.pt")
    comm.py     class World:                                  the same
                    @classmethod
                    def from_environment(cls):
                        init_process_group("nccl")
    far.py      class Far(World): ...                         the same, by what it inherits
    main.py     from comm import World                        a program: it names no library, but it shows what the rank
                from train import run_training                and the folder of `run_training` are
                if __name__ == "__main__":
                    args = parser.parse_args()
                    run_training(load(args.config), args.folder)

They are found by the names of the functions and the classes alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from trl_lint.linter.files.receivers import imported

_PROGRAM = b"__main__"
# Compiled when they are used, as most runs need none of them.
# A function or a class of a file, and what follows it at the end of its block, but for others.
_DEFINITION = rb"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)"
_NEXT = rb"^(?:if|@)"
# A class with others from which it inherits, and how many of them are followed from one to the next.
_HEIR = rb"(?m)^class[ \t]+(\w+)\(([^()]*)\)"
_NAME = re.compile(rb"\w+")
_MOST_STEPS = 3
# A call of a name, or of something in it: `run(`, `World.start(`, `comm.World.start(`.
_CALL = rb"(?<![\w.])(\w+)((?:\.\w+)*)[ \t]*\("
# How a function starts the process group, or asks a library to do so.
_STARTS = (b"init_process_group(", b"init_distributed(", b"Accelerator(")


class StartedPrograms:
    """The programs whose processes functions or classes of some files start."""

    def __init__(self, contents: Mapping[Path, bytes]) -> None:
        self._contents = contents

    def have(self, source: bytes) -> bool:
        """Whether a file is one of them."""
        called = called_by_program(source)
        return bool(called) and not self._starting.isdisjoint(called)

    @cached_property
    def _starting(self) -> frozenset[bytes]:
        return starting_processes(self._contents.values())


def called_by_program(source: bytes) -> tuple[bytes, ...]:
    """The names of what a file imports and calls, or whose functions it calls, if it is a program."""
    if _PROGRAM not in source:
        return ()
    names = imported(source)
    calls = (each for each in re.finditer(_CALL, source) if each[1] in names)
    return tuple(dict.fromkeys(name for each in calls for name in (names[each[1]], *each[2].split(b".")[1:])))


def starting_processes(
    sources: Iterable[bytes], others: Iterable[tuple[bytes, Iterable[bytes]]] = ()
) -> frozenset[bytes]:
    """The names of the functions and classes in these files that start the process group, or use another one of them
    that does, and of the classes that inherit from one.

    others: classes of other files with their bases.
    """
    known = list(sources)
    starting = (source for source in known if any(call in source for call in _STARTS))
    found = {name for source in starting for name in _starting(source)}
    # Several files may have a class of the same name.
    heirs = [(heir, _NAME.findall(named)) for source in known if found for heir, named in re.findall(_HEIR, source)]
    heirs += ((heir, [*named]) for heir, named in others if found)
    for _ in range(_MOST_STEPS):
        found |= {heir for heir, named in heirs if not found.isdisjoint(named)}
    return frozenset(found)


def _starting(source: bytes) -> Iterator[bytes]:
    bodies = dict(_definitions(source))
    first = {name for name, body in bodies.items() if any(call in body for call in _STARTS)}
    yield from first
    for name, body in bodies.items() if first else ():
        if name not in first and any(each[1] in first for each in re.finditer(_CALL, body)):
            yield name


def _definitions(source: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The functions and the classes of a file by name, each with the text up to the end of its block."""
    starts = [*re.finditer(_DEFINITION, source, re.MULTILINE)]
    for start, following in zip_longest(starts, starts[1:]):
        body = source[start.end() : len(source) if following is None else following.start()]
        yield start[1], re.split(_NEXT, body, maxsplit=1, flags=re.MULTILINE)[0]
