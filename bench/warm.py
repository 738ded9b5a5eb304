"""What a run costs whose results are all stored: one file alone, one file of a project, and the whole project.

    python -m bench.warm [--runs N] [--no-peers]

The least CPU and wall-clock time of the runs, which alternate: whatever else runs on the machine only adds to it. It is
compared with the start of Python, which is the minimum, with the import of click, and with ruff on the same files.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.peers import PYTHON, Cost, copied, of_command, peer_command
from evaluation.common import PASSED, run, table
from evaluation.corpora import TRL

FILE = "trl/trainer/grpo_trainer.py"
_LINT = (sys.executable, "-m", "trl_lint", "check", "--isolated", "--exit-zero", "--quiet")


def least(costs: Sequence[Cost]) -> Cost:
    return Cost(*(min(getattr(each, name) for each in costs) for name in ("cpu", "wall", "memory")))


def measured(ways: Mapping[str, tuple[Sequence[str], Path]], runs: int) -> dict[str, Cost]:
    """The least cost of each command in its folder. The first run of each, which stores its results, does not count."""
    found: dict[str, list[Cost]] = {way: [] for way in ways}
    for number in range(runs + 1):
        for way, (command, folder) in ways.items():
            cost = of_command(command, folder)
            if number:
                found[way].append(cost)
    return {way: least(costs) for way, costs in found.items()}


def lines_of(costs: Mapping[str, Cost]) -> list[tuple[object, ...]]:
    """A line for each command, in milliseconds; with the CPU time over that of Python's start."""
    start = costs["python -c pass"]
    return [
        (way, f"{cost.cpu * 1000:.0f}", f"{(cost.cpu - start.cpu) * 1000:.0f}", f"{cost.wall * 1000:.0f}")
        for way, cost in costs.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15, metavar="N")
    parser.add_argument("--no-peers", action="store_true", help="trl-lint alone")
    options = parser.parse_args(arguments)
    with copied(TRL) as folder, tempfile.TemporaryDirectory() as temporary:
        alone = Path(temporary)
        shutil.copyfile(folder / FILE, alone / "trainer.py")
        ways: dict[str, tuple[Sequence[str], Path]] = {
            "python -c pass": (PYTHON, folder),
            "import click": ((sys.executable, "-c", "import click"), folder),
            "one file alone": ((*_LINT, "trainer.py"), alone),
            f"{FILE} of {TRL}": ((*_LINT, FILE), folder),
            str(TRL): ((*_LINT, "."), folder),
        }
        if not options.no_peers:
            ways[f"ruff, {TRL}"] = ((*peer_command("ruff"), "."), folder)
        print(
            table([("nothing changed", "CPU ms", "over Python", "clock ms"), *lines_of(measured(ways, options.runs))])
        )
    return PASSED


if __name__ == "__main__":
    run(main)
