"""The fixed copy of a program: its files after `--fix`, in a separate folder.

Only files that a fix changes are written there. The ranks load them instead of the originals, under the originals'
paths, so that all other files of the program are still found and the user's files are not touched.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from trl_lint.config import selection
from trl_lint.findings import Finding
from trl_lint.linter.files.discovery import PathProblem, find_files, import_roots
from trl_lint.linter.linter import Linter
from trl_lint.linter.runner import Action, FileResult, propose, run, run_one
from trl_lint.rules.base import Rule
from trl_lint.settings import Settings


@dataclass(slots=True)
class FixedCopy:
    """What `--fix` does to a program.

    Attributes:
        sources: By file, the copy that runs instead.
        findings: All findings before the fix.
        applied: The findings that were fixed.
        problems: Lines for the user about files that could not be linted.
    """

    sources: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    applied: list[Finding] = field(default_factory=list)
    withheld: list[tuple[Finding, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def write_fixed_copy(
    files: Iterable[Path],
    settings: Settings,
    target: Path,
    sources: dict[str, str] | None = None,
    roots: Sequence[Path] | None = None,
) -> FixedCopy:
    """Lint these files as one project and write the result of `--fix` below `target`.

    sources: texts that already replace some of the files. roots: where imports are looked up, by default also in the
    folders of the files' packages.
    """
    files = [Path(os.path.realpath(file)) for file in files]
    instead = {Path(path): Path(text).read_bytes() for path, text in (sources or {}).items()}
    # How a program is launched does not show in a fixed copy of it.
    selected = selection(settings)
    rules = [rule for rule in selected.rules if isinstance(rule, Rule)]
    roots = import_roots(settings.root, {_top(file) for file in files}) if roots is None else roots
    linter = Linter(settings, tuple(roots), rules, selection=selected)
    linter.overlay.update(instead)
    copy = FixedCopy(sources=dict(sources or {}))
    action = partial(propose, unsafe=settings.unsafe_fixes)
    if instead:
        results: Iterable[FileResult] = _run_overlaid(files, instead, linter, action)
    else:
        results = run(files, linter, action)
    for result in results:
        copy.applied += [*result.applied, *result.partly]
        copy.withheld += result.withheld
        copy.findings += [*result.applied, *result.findings]
        if result.problem:
            copy.problems.append(result.problem)
        elif result.applied or result.partly:
            copy.sources[str(result.path)] = str(_write(target, result))
    return copy


def files_to_fix(
    copy: FixedCopy, files: Sequence[Path], include: Sequence[Path], settings: Settings, target: Path
) -> list[Path]:
    """The paths to pass to `--fix` for the same result.

    These are the script, where the search for settings starts, and the fixed files; or all files, if a finding depends
    on another file that calls it. files: the program's own files, including those below `include`. target: a folder for
    copies.
    """
    needed = list(dict.fromkeys([*files[:1], *(Path(finding.path) for finding in copy.applied)]))
    # The command looks up imports below the project alone.
    second_copy = write_fixed_copy(needed, settings, target, roots=import_roots(settings.root, needed))
    if _texts(second_copy) == _texts(copy):
        return needed
    named = [Path(os.path.realpath(path)) for path in include]
    return [*(file for file in files if not any(file.is_relative_to(path) for path in named)), *include]


def places(findings: Iterable[Finding]) -> dict[str, tuple[int, ...]]:
    """By file, the lines in which findings start."""
    found: dict[str, set[int]] = {}
    for finding in findings:
        found.setdefault(finding.path, set()).add(finding.start.line)
    return {file: tuple(sorted(lines)) for file, lines in found.items()}


def _texts(copy: FixedCopy) -> dict[str, bytes]:
    return {file: Path(text).read_bytes() for file, text in copy.sources.items()}


def _run_overlaid(
    files: Sequence[Path], instead: dict[Path, bytes], linter: Linter, action: Action
) -> Iterator[FileResult]:
    contents = [(file, instead.get(file) or file.read_bytes()) for file in files]
    linter.prepare(contents)
    for file, content in contents:
        yield run_one(file, content, linter, action)


def _top(file: Path) -> Path:
    """The folder that contains a file's outermost package."""
    folder = file.parent
    while os.path.isfile(folder / "__init__.py"):
        folder = folder.parent
    return folder


def _write(target: Path, result: FileResult) -> Path:
    copy = target / result.path.relative_to(result.path.anchor)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(result.source)
    return copy


def files_of(script: Path, roots: Sequence[Path], include: Sequence[Path] = ()) -> list[Path]:
    """A program's own files: the script, what it imports below `roots`, and what the user names in addition."""
    found = dict.fromkeys([Path(os.path.realpath(script))])
    waiting = list(found)
    while waiting:
        file = waiting.pop()
        for path in _imported(file, (script.parent, *roots)):
            if path not in found:
                found[path] = None
                waiting.append(path)
    return list(dict.fromkeys([*found, *(Path(os.path.realpath(path)) for path in files_in(include))]))


def _imported(file: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """The files below `roots` that one file imports, anywhere in it."""
    # Errors are reported by the linter, or by Python when it runs.
    with suppress(SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from _modules(alias.name.split("."), roots)
            elif isinstance(node, ast.ImportFrom):
                base = (node.module or "").split(".") if node.module else []
                tops = (file.parents[node.level - 1],) if node.level else roots
                for alias in node.names:
                    yield from _modules([*base, alias.name], tops)


def _modules(names: Sequence[str], roots: Sequence[Path]) -> Iterator[Path]:
    """The files of a dotted name and of the packages around it; folders without `__init__.py` are packages too."""
    for root in roots:
        for length in range(len(names) + 1):
            below = root.joinpath(*names[:length])
            for path in (below / "__init__.py", below.with_suffix(".py")) if length else ():
                if os.path.isfile(path):
                    yield Path(os.path.realpath(path))


def files_in(named: Iterable[Path]) -> list[Path]:
    """The Python files that were named, and those below the named folders."""
    files = find_files(named, wanted=lambda name: name.endswith(".py"))
    return [found for found in files if not isinstance(found, PathProblem)]
