"""Compare two versions of trl-lint: what does each find on the same releases, and how would it fix that?

    python -m evaluation.compare OLD [NEW] [--only TEXT] [--tree FOLDER] [--verbose]

OLD and NEW are revisions of this repository; NEW defaults to the working tree. Each version is installed into its own
folder and lints every release, with all rules and all fixes. Findings are compared by file, line, column, code,
applicability and edits. `--tree` compares on a folder instead. Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.common import FAILED, PASSED, run, table
from evaluation.releases import Release, fetch

HERE = Path(__file__).resolve().parents[1]
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


def installed(revision: str | None, folder: Path) -> Path:
    """A version of trl-lint, without its dependencies, in a folder that Python can import it from."""
    source = str(HERE) if revision is None else f"git+file://{HERE}@{revision}"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), source], check=True
    )
    return folder


def findings(version: Path, root: Path) -> list[Row]:
    """The findings of a version below a folder.

    Raises:
        RuntimeError: it failed.
    """
    command = [sys.executable, "-m", "trl_lint", "--isolated", "--no-cache", "--preview", "--select", "TRL"]
    done = subprocess.run(
        [*command, "--output-format", "json", "."],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(version)},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return sorted(_row(each, root) for each in json.loads(done.stdout))
    except json.JSONDecodeError:
        raise RuntimeError(f"{version.name} gave no findings of {root}: {done.stderr.strip()[-400:]}") from None


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
    rows: list[tuple[object, ...]] = [("tree", "old", "new", "gone", "new ones", "other fix", "other words")]
    lines: list[str] = []
    for name, root in roots:
        before, after = findings(old, root), findings(new, root)
        found = differences(before, after)
        words = len({row.message for row in after} - {row.message for row in before})
        rows.append((name, len(before), len(after), *map(len, found.values()), words))
        lines += [f"{name}: {kind}: {line}" for kind, each in found.items() for line in each]
    print("\n".join([table(rows), *(lines if verbose else ())]))
    return len(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", help="a revision of this repository")
    parser.add_argument("new", nargs="?", help="another one; the working tree if it is not given")
    parser.add_argument("--only", metavar="TEXT", default="", help="only releases whose name contains this")
    parser.add_argument("--tree", metavar="FOLDER", type=Path, action="append", help="compare on this folder instead")
    parser.add_argument("--verbose", action="store_true", help="write out every difference")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        old = installed(options.old, Path(temporary, "old"))
        new = installed(options.new, Path(temporary, "new"))
        if options.tree:
            roots = [(str(tree), tree) for tree in options.tree]
        else:
            roots = [(str(each), fetch(each)) for each in RELEASES if options.only in str(each)]
            roots += [("fixtures", HERE / "fixtures")] if options.only in "fixtures" else []
        return FAILED if compared(roots, old, new, verbose=options.verbose) else PASSED


if __name__ == "__main__":
    run(main)
