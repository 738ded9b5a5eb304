"""What the benchmarks share: a linter for one release, the files of a corpus, and names of places."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from evaluation.releases import IndexUnreachable
from trl_lint.findings import Finding
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.rules.base import Rule
from trl_lint.settings import Settings

# The rules that subscribe to events; the rule about launch commands has its own benchmarks.
ALL_RULES = tuple(rule.code for rule in all_rules() if isinstance(rule, Rule))
# Exit codes: 0 as it should be, 1 the benchmark failed, 2 it could not run.
PASSED, FAILED, NOT_RUN = 0, 1, 2


def new_linter(root: Path, codes: Sequence[str] = ALL_RULES) -> Linter:
    """A linter of the project in `root` that knows only the rules in `codes`."""
    return Linter(Settings(), (root,), tuple(rule for rule in all_rules() if rule.code in codes))


def python_files(root: Path, patterns: Iterable[str] = ("**/*.py",)) -> list[Path]:
    """The Python files below `root` that match one of the patterns, sorted."""
    return sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})


def covers(finding: Finding, line: int) -> bool:
    """Whether the finding is reported on the line, or its range covers it."""
    return line in finding.lines or finding.start.line <= line <= finding.end.line


def symbols(source: str | bytes) -> dict[str, list[tuple[int, int]]]:
    """The line ranges of every function and class, by dotted name (a name may be defined more than once)."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for name, node in _named(ast.parse(source), ""):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        ranges.setdefault(name, []).append((first, node.end_lineno or first))
    return ranges


def symbol_at(source: str | bytes, line: int) -> str:
    """The innermost function or class that holds a line; `<module>` outside of all."""
    holding = [
        (end - start, name) for name, spans in symbols(source).items() for start, end in spans if start <= line <= end
    ]
    return min(holding)[1] if holding else "<module>"


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            name = f"{prefix}.{child.name}".lstrip(".")
            yield name, child
            yield from _named(child, name)
        else:
            yield from _named(child, prefix)


def table(rows: Sequence[Sequence[object]]) -> str:
    """Rows of cells (the first is the heading), in columns."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def run(main: Callable[[], int]) -> None:
    """Run a benchmark's `main()` and exit with what it returns; report it if the index can't be reached."""
    try:
        sys.exit(main())
    except IndexUnreachable as error:
        print(f"not run: {error}", file=sys.stderr)
        sys.exit(NOT_RUN)
