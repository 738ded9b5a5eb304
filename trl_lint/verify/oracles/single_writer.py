"""*one writer*: no file is written by several ranks.

A file that all ranks of a machine can see is created by one of them and read by the others. If each rank creates it,
the work is done once per rank, and the last one's file replaces one that others may be reading. A run on several
machines is judged separately for each machine.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from trl_lint.verify.record.traces import Placed, Run
from trl_lint.verify.record.verdicts import Verdict, failed, passed, unknown

ORACLE = "one writer"


def judge(run: Run) -> Verdict:
    """Whether each file that was written, or moved to its final name, was so by one rank."""
    if len(run.ranks) < 2:
        return unknown(ORACLE, "there is one rank only")
    writers: dict[str, dict[int, Placed]] = defaultdict(dict)
    for rank in run.ranks:
        for placed in rank.placed:
            writers[placed.file].setdefault(rank.number, placed)
    if not writers:
        return unknown(ORACLE, "no rank wrote a file")
    several = {file: by for file, by in writers.items() if len(by) > 1}
    if not several:
        return passed(ORACLE, f"{len(writers)} files, each written by one rank")
    file, by = next(iter(several.items()))
    more = f", and {len(several) - 1} more" if len(several) > 1 else ""
    return failed(
        ORACLE,
        "double write",
        f"{len(by)} ranks wrote the same file, {Path(file).name}{more}",
        [f"rank {number}: {_describe(placed)}" for number, placed in sorted(by.items())],
        files=sorted(several),
    )


def _describe(placed: Placed) -> str:
    return f"at {', called from '.join(map(str, placed.at))}" if placed.at else "at no line of Python code"
