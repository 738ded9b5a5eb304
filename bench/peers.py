"""What whole commands cost: trl-lint in each mode, compared with the minimum and with other linters.

    python -m bench.peers [--only TEXT] [--runs N] [--no-peers]

For each tree: CPU seconds, wall-clock seconds and peak memory of one process; the median of the runs, which alternate.
The minimum (`floor`) is `libcst.parse_module` over the files that pass the filter, in a separate process. The peers get
their own environment, once, from the package index; they run with all their rules, on the same files.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

from evaluation.common import PASSED, new_linter, run, table
from evaluation.corpora import ACCELERATE, TRL, Corpus
from evaluation.releases import IndexUnreachable, Release, cache_dir

TREES = (
    TRL,
    ACCELERATE,
    Corpus(Release("accelerate", "1.15.0", "sdist")),
    Corpus(Release("axolotl", "0.19.0")),
    Corpus(Release("openrlhf", "0.11.2")),
    Corpus(Release("llamafactory", "0.9.5")),
    Corpus(Release("ms-swift", "4.6.0")),
    Corpus(Release("verl", "0.9.1", "sdist")),
)
# The command of each peer, in its environment; {} are the files.
PEERS = {
    "TorchFix": ("torchfix==0.7.0", ("torchfix", "--select=ALL")),
    "Fixit": ("fixit==2.2.1", ("fixit", "--quiet", "lint")),
    "ruff": ("ruff==0.17.5", ("ruff", "check", "--isolated", "--no-cache", "--quiet", "--exit-zero")),
}
FLOOR = """
import sys, libcst
for path in sys.argv[1:]:
    libcst.parse_module(open(path, "rb").read())
"""
_LINT = (sys.executable, "-m", "trl_lint", "check", ".", "--isolated", "--exit-zero", "--quiet")
# The modes of trl-lint, in this order: a warm run reads what the run before has cached.
WAYS: Mapping[str, tuple[str, ...]] = {
    "cold": (),
    "warm": (),
    "json": ("--no-cache", "--output-format", "json"),
    "diff": ("--no-cache", "--diff"),
}
START = (sys.executable, "-m", "trl_lint", "--version")
PYTHON = (sys.executable, "-c", "pass")


@dataclass(frozen=True)
class Cost:
    """The cost of a command: CPU seconds, wall-clock seconds, and peak memory in megabytes."""

    cpu: float
    wall: float
    memory: float


def of_command(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Cost:
    """The cost of a command that is run in a folder; its exit code is ignored here."""
    begun = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # it has been waited for already
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss / 1024)


def in_the_middle(costs: Sequence[Cost]) -> Cost:
    return Cost(*(median(getattr(each, name) for each in costs) for name in ("cpu", "wall", "memory")))


@contextmanager
def copied(corpus: Corpus) -> Iterator[Path]:
    """A copy of the Python files of a tree, in a folder that may be changed."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "tree")
        for path in corpus.files:
            target = folder / path.relative_to(corpus.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        yield folder


def that_matter(corpus: Corpus) -> list[str]:
    """The files of a tree that pass the filter, by their paths in it."""
    linter = new_linter(corpus.root)
    return [str(path.relative_to(corpus.root)) for path in corpus.files if linter.may_matter(path.read_bytes())]


def peer_command(name: str) -> tuple[str, ...]:
    """The command of a peer, in its own environment, which is built if it is missing.

    Raises:
        IndexUnreachable: it is missing, and pip could not fetch it.
    """
    requirement, (program, *options) = PEERS[name]
    home = cache_dir().parent / "peers" / requirement.replace("==", "-")
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "bin" / program).exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", requirement]
            done = subprocess.run(pip, capture_output=True, text=True, check=False)
            if done.returncode:
                raise IndexUnreachable(f"{requirement}: {done.stderr.strip()[-200:]}")
    return (str(home / "bin" / program), *options)


def _edited(path: Path, line: str) -> Callable[[], None]:
    """Append a line to a file, a different one each time."""
    text, numbers = path.read_text(encoding="utf-8"), count()

    def change() -> None:
        path.write_text(f"{text}\n{line.format(next(numbers))}\n", encoding="utf-8")

    return change


def of_tree(corpus: Corpus, matter: Sequence[str], runs: int, peers: Mapping[str, Sequence[str]]) -> dict[str, Cost]:
    """The median cost of each way to lint a tree. peers: the command of each of them."""
    found: dict[str, list[Cost]] = {}
    with copied(corpus) as folder, tempfile.TemporaryDirectory() as caches:
        largest = max((folder / each for each in matter), key=lambda path: path.stat().st_size)
        code, comment = _edited(largest, "changed_{} = 1"), _edited(largest, "# {}")
        for number in range(runs):
            kept = {"TRL_LINT_CACHE_DIR": str(Path(caches, str(number)))}
            found.setdefault("floor", []).append(of_command((sys.executable, "-c", FLOOR, *matter), folder))
            for way, options in WAYS.items():
                found.setdefault(way, []).append(of_command((*_LINT, *options), folder, kept))
            # A comment first: it must be the only change since the last run.
            for way, change in (("a comment changed", comment), ("one file changed", code)):
                change()
                found.setdefault(way, []).append(of_command(_LINT, folder, kept))
            for name, command in peers.items():
                found.setdefault(name, []).append(of_command((*command, "."), folder))
    return {way: in_the_middle(costs) for way, costs in found.items()}


def lines_of(corpus: Corpus, count: int, costs: Mapping[str, Cost]) -> list[tuple[object, ...]]:
    """A line for each mode, with its CPU time over the minimum and over a cold lint. count: how many files pass the
    filter.
    """
    floor, cold = costs["floor"], costs["cold"]
    return [
        (
            *((str(corpus), count) if way == "floor" else ("", "")),
            way,
            f"{cost.cpu:.2f}",
            f"{cost.cpu / floor.cpu:.2f}",
            f"{cost.cpu / cold.cpu:.2f}",
            f"{cost.wall:.2f}",
            f"{cost.memory:.0f}",
        )
        for way, cost in costs.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="trees with this text in their name")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    parser.add_argument("--no-peers", action="store_true", help="trl-lint alone")
    options = parser.parse_args(arguments)
    peers = {} if options.no_peers else {name: peer_command(name) for name in PEERS}
    rows: list[tuple[object, ...]] = [("tree", "files", "way", "CPU s", "÷ floor", "÷ cold", "clock s", "MB")]
    for corpus in TREES:
        if options.only in str(corpus):
            print(f"… {corpus}", file=sys.stderr)
            matter = that_matter(corpus)
            rows += lines_of(corpus, len(matter), of_tree(corpus, matter, options.runs, peers))
    starts = {"trl-lint --version": START, "python -c pass": PYTHON}
    for name, command in starts.items():
        cost = in_the_middle([of_command(command, Path.cwd()) for _ in range(5)])
        rows.append(("", "", name, f"{cost.cpu:.2f}", "", "", f"{cost.wall:.2f}", f"{cost.memory:.0f}"))
    print(table(rows))
    return PASSED


if __name__ == "__main__":
    run(main)
