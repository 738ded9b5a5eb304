"""Programs that name no library, but pass their options to a function of another file that starts their processes.

    train.py    def run_training(config, folder):             analysed: it starts the process group
                    init_process_group("nccl")
                    torch.save(config, f"{folder}/config.pt")
    main.py     from train import run_training                a program: it names no library, but its options show that
                if __name__ == "__main__":                    the folder is the same one on all ranks
                    args = parser.parse_args()
                    run_training(load(args.config), args.folder)

They are found by the names of the functions alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trl_lint.linter.files.receivers import functions_of, imported_and_called

_PROGRAM = b"__main__"
# A program that has options reads them by one of these.
_READS_OPTIONS = (b"parse_args(", b"parse_known_args(", b"sys.argv")
# What follows a function at the end of its block, but for other functions.
_NEXT = re.compile(rb"^(?:class|if)\b", re.MULTILINE)
# How a function starts the process group, or asks a library to do so.
_STARTS = (b"init_process_group(", b"init_distributed(", b"Accelerator(")


def called_by_program(source: bytes) -> tuple[bytes, ...]:
    """The names of what a file imports by `from` and calls, if it is a program that has options."""
    if _PROGRAM not in source or not any(call in source for call in _READS_OPTIONS):
        return ()
    return imported_and_called(source)


def starting_processes(sources: Iterable[bytes]) -> frozenset[bytes]:
    """The names of the functions in these files that start the process group, or call another one of them that does."""
    starting = (source for source in sources if any(call in source for call in _STARTS))
    return frozenset(name for source in starting for name in _starting(source))


def _starting(source: bytes) -> Iterator[bytes]:
    bodies = {name: _NEXT.split(code, maxsplit=1)[0] for name, code in functions_of(source)}
    first = {name for name, body in bodies.items() if any(call in body for call in _STARTS)}
    yield from first
    if first:
        calls = re.compile(rb"(?<![\w.])(?:%b)\(" % b"|".join(map(re.escape, sorted(first))))
        yield from (name for name, body in bodies.items() if name not in first and calls.search(body))
