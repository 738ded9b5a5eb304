"""Compare two versions of trl-lint: what does each find on the same releases, and how would it fix that?

    python -m evaluation.compare OLD [NEW] [--only TEXT] [--tree FOLDER] [--run NUMBER --mirrors DIR] [--verbose]

OLD and NEW are revisions of this repository; NEW defaults to the working tree. Each version is installed into its own
folder and lints every release, with all rules and all fixes. Findings are compared by file, line, column, code,
applicability and edits, and so is the CPU time: growth in size is what `bench.growth` measures, but a change can make
one tree slow and no other. `--tree` compares on a folder instead, `--run` on the code bases of a first run. Exit code 1
when anything differs, or when a tree takes much longer.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.checkouts import Checkout, NotToBeHad
from evaluation.common import FAILED, PASSED, run, table
from evaluation.foreign import files_of
from evaluation.releases import IndexUnreachable, Release, fetch

HERE = Path(__file__).resolve().parents[1]
FIRST_RUNS = HERE / "evaluation" / "cases" / "first_runs.json"
# A tree takes much longer if it takes so many times as long, and so many CPU seconds more. Less is noise.
SLOWER, SECONDS_MORE = 1.4, 2.0
RELEASES = (
    *(Release("trl", version) for version in ("0.11.4", "0.13.0", "0.14.0", "0.16.1", "0.17.0", "1.3.0", "1.16.0")),
    Release("transformers", "4.51.3"),
    Release("transformers", "5.24.0"),
    Release("accelerate", "1.15.0"),
    Release("peft", "0.21.2"),
)


@dataclass(frozen=True, order=True)
class Row:
    """The parts of a finding by which versions are compared."""

    file: str
    line: int
    column: int
    code: str
    applicability: str
    edits: str
    message: str

    @property
    def place(self) -> tuple[str, int, int, str]:
        return self.file, self.line, self.column, self.code

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.code} [{self.applicability or 'no fix'}] {self.message}"


@dataclass(frozen=True)
class Lint:
    """What a version finds below a folder, and the CPU seconds that it takes."""

    rows: list[Row]
    seconds: float

    def is_much_slower_than(self, other: Lint) -> bool:
        return self.seconds > max(other.seconds * SLOWER, other.seconds + SECONDS_MORE)


def installed(revision: str | None, folder: Path) -> Path:
    """A version of trl-lint, without its dependencies, in a folder that Python can import it from."""
    source = str(HERE) if revision is None else f"git+file://{HERE}@{revision}"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), source], check=True
    )
    return folder


def lint(version: Path, root: Path) -> Lint:
    """Lint a folder with a version, in a process of its own.

    Raises:
        RuntimeError: it failed.
    """
    command = [sys.executable, "-m", "trl_lint", "--isolated", "--no-cache", "--preview", "--select", "TRL"]
    before = _seconds_of_children()
    done = subprocess.run(
        [*command, "--output-format", "json", "."],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(version)},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        rows = sorted(_row(each, root) for each in json.loads(done.stdout))
        return Lint(rows, _seconds_of_children() - before)
    except json.JSONDecodeError:
        raise RuntimeError(f"{version.name} gave no findings of {root}: {done.stderr.strip()[-400:]}") from None


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(finding: dict, root: Path) -> Row:
    fix = finding["fix"] or {"applicability": "", "edits": []}
    return Row(
        os.path.relpath(finding["filename"], os.path.realpath(root)),
        finding["location"]["row"],
        finding["location"]["column"],
        finding["code"],
        fix["applicability"],
        json.dumps(fix["edits"], sort_keys=True),
        finding["message"],
    )


def differences(old: Sequence[Row], new: Sequence[Row]) -> dict[str, list[str]]:
    """What only one version finds, and what both find but fix differently."""
    other = {row.place: row for row in old}
    changed = [
        row
        for row in new
        if row.place in other
        and (row.applicability, row.edits) != (other[row.place].applicability, other[row.place].edits)
    ]
    return {
        "gone": [str(row) for row in _beyond(old, new)],
        "new": [str(row) for row in _beyond(new, old)],
        "other fix": [f"{row} (was {other[row.place].applicability or 'no fix'})" for row in changed],
    }


def _beyond(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """The findings that have no partner at the same place among the others."""
    partners = Counter(row.place for row in others)
    partners.subtract(row.place for row in rows)
    alone = []
    for row in reversed(rows):
        if partners[row.place] < 0:
            partners[row.place] += 1
            alone.append(row)
    return alone[::-1]


def compared(roots: Iterable[tuple[str, Path]], old: Path, new: Path, *, verbose: bool) -> int:
    """Print the differences, tree by tree; return their number."""
    titles = ("tree", "old", "new", "gone", "new ones", "other fix", "other words", "CPU s, old", "new")
    rows: list[tuple[object, ...]] = [titles]
    lines: list[str] = []
    slower: list[str] = []
    for name, root in roots:
        before, after = lint(old, root), lint(new, root)
        found = differences(before.rows, after.rows)
        words = len({row.message for row in after.rows} - {row.message for row in before.rows})
        times = [f"{each.seconds:.1f}" for each in (before, after)]
        rows.append((name, len(before.rows), len(after.rows), *map(len, found.values()), words, *times))
        lines += [f"{name}: {kind}: {line}" for kind, each in found.items() for line in each]
        slower += [f"{name}: {' s, then '.join(times)} s of CPU"] * after.is_much_slower_than(before)
    print("\n".join([table(rows), *(lines if verbose else ()), *slower]))
    return len(lines) + len(slower)


def of_run(number: int, mirrors: Path | None) -> Iterator[tuple[str, Path]]:
    """The code bases of a first run; those that can't be had are named on the standard error."""
    (named,) = [each for each in json.loads(FIRST_RUNS.read_text(encoding="utf-8")) if each["run"] == number]
    for row in named["code_bases"]:
        code_base = Release(**row) if "package" in row else Checkout(**row)
        try:
            yield str(code_base), files_of(code_base, mirrors)
        except (NotToBeHad, IndexUnreachable) as why:
            print(f"skipped: {code_base}: {why}", file=sys.stderr)


def roots_of(options: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    """The trees that are asked for, by name."""
    if options.tree or options.run:
        yield from ((str(tree), tree) for tree in options.tree)
        for number in options.run:
            yield from (each for each in of_run(number, options.mirrors) if options.only in each[0])
        return
    yield from ((str(each), fetch(each)) for each in RELEASES if options.only in str(each))
    if options.only in "fixtures":
        yield "fixtures", HERE / "fixtures"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", help="a revision of this repository")
    parser.add_argument("new", nargs="?", help="another one; the working tree if it is not given")
    parser.add_argument("--only", metavar="TEXT", default="", help="only releases whose name contains this")
    more = {"action": "append", "default": []}
    parser.add_argument("--tree", metavar="FOLDER", type=Path, **more, help="compare on this folder instead")
    parser.add_argument("--run", metavar="NUMBER", type=int, **more, help="on the code bases of this first run instead")
    parser.add_argument("--mirrors", type=Path, metavar="DIR", help="where bare git mirrors lie, as OWNER+NAME")
    parser.add_argument("--verbose", action="store_true", help="write out every difference")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        old = installed(options.old, Path(temporary, "old"))
        new = installed(options.new, Path(temporary, "new"))
        return FAILED if compared(roots_of(options), old, new, verbose=options.verbose) else PASSED


if __name__ == "__main__":
    run(main)
