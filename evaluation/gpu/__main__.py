"""Checks of the harness with GPUs: one command for a machine that has one or more.

    python -m evaluation.gpu [--only WORD] [--minutes N] [--keep DIR] [--output FILE]

It installs nothing, changes no setting of a GPU, and takes less than eight minutes: what there is no time left for is
listed as not run. The table goes to the standard output as Markdown (or to FILE), each row to the standard error as
soon as it is done. Exit codes: 0 all that ran is as expected, 1 something is not, 2 something is missing, or there is
no GPU.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from evaluation.gpu import machine

CLEAN, DIFFERS, LACKING = 0, 1, 2
# The part of the total time that is reserved for a run that is stopped at its limit.
SPARE_SECONDS = 100.0


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="WORD", help="run only the checks that have this in their names")
    parser.add_argument("--minutes", type=float, default=7.5, help="after which no other program is begun")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the traces here")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the table is written")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options(arguments)
    begun = time.monotonic()
    if lacking := machine.lacking():
        print(f"evaluation.gpu: {lacking}", file=sys.stderr)
        return LACKING
    from evaluation.gpu.rows import page  # its own imports may be missing

    here = machine.this_machine()
    with ExitStack() as stack:
        folder = chosen.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        rows = list(
            _told(_rows(folder.absolute(), len(here.gpus), begun + 60 * chosen.minutes - SPARE_SECONDS, chosen.only))
        )
    text = page(here, rows, time.monotonic() - begun)
    if chosen.output:
        chosen.output.write_text(text, encoding="utf-8")
    else:
        print(text)
    return DIFFERS if any(row.holds is False for row in rows) else CLEAN


def _rows(folder: Path, gpus: int, end: float, only: str = "") -> Iterator:
    from evaluation.gpu import all_fixtures
    from evaluation.gpu.checks import Bench, checks

    bench = Bench(folder, gpus, end=end, only=only)
    return (row for row in chain(checks(bench), all_fixtures.rows(bench)) if only in row.what)


def _told(rows: Iterator) -> Iterator:
    begun = time.monotonic()
    for row in rows:
        print(f"… after {time.monotonic() - begun:.0f} s {row.what}: {row.mark}", file=sys.stderr, flush=True)
        yield row


if __name__ == "__main__":
    sys.exit(main())
