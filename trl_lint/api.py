"""The Python interface: `trl_lint.check`."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trl_lint.config import load_settings, selection, wrong_names
from trl_lint.findings import Finding
from trl_lint.settings import ConfigError, Settings

StrPath = str | os.PathLike[str]


class LintError(Exception):
    """Some files could not be linted.

    `problems` has one line for each of them, as the terminal shows it: a file that was named or that matters and can't
    be read, decoded or parsed, or one on which the tool itself failed. `findings` are those in the other files.
    """

    def __init__(self, problems: Iterable[str], findings: Iterable[Finding]) -> None:
        self.problems = list(problems)
        self.findings = list(findings)
        super().__init__("\n".join(self.problems))


def check(paths: StrPath | Iterable[StrPath], settings: Settings | None = None) -> list[Finding]:
    """Lint files and folders, and return what `trl-lint PATHS` reports, in the same order.

    Nothing is changed, imported or run. Comments (`# noqa`), `per-file-ignores` and a `baseline` are obeyed, and below
    a folder, files that git ignores are skipped. All files of a call are analysed together, because one may matter for
    another. Results are not cached.

    Args:
        paths: a file or a folder, or several.
        settings: which rules run, and how. Default: the settings for the first path, from the nearest settings file.

    Returns:
        The findings, in the order of the files and their lines. `Finding.path` is absolute. The edits of a fix are
        computed when `finding.fix.edits()` is called, which takes time.

    Raises:
        ConfigError: invalid settings, such as an unknown rule or a missing baseline.
        LintError: some files could not be linted.
    """
    named = [Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    if not named:
        return []
    chosen = load_settings(named[0]) if settings is None else _checked(settings)
    with _nothing_stays_frozen():
        return _findings(named, chosen)


def _checked(settings: Settings) -> Settings:
    """Validate settings that were created in Python, not read from a file.

    Raises:
        ConfigError: they contain an invalid name.
    """
    for wrong in wrong_names(settings):
        raise ConfigError(wrong)
    return settings


def _findings(paths: list[Path], settings: Settings) -> list[Finding]:
    from trl_lint.linter import runner
    from trl_lint.linter.files.discovery import around_project, find_files, import_roots
    from trl_lint.linter.linter import Linter

    selected = selection(settings)
    linter = Linter(settings, import_roots(settings.root, paths), selected.rules, selection=selected)
    linter.comments.judged_below = around_project(paths, linter.roots)
    linter.sees_all = bool(linter.comments.judged_below)
    files = find_files(
        paths,
        root=settings.root,
        exclude=settings.exclude,
        include=settings.extend_include,
        launches=linter.looks_for_launches,
    )
    named_files = {Path(os.path.abspath(path)) for path in paths if not os.path.isdir(path)}
    results = list(runner.run(files, linter, runner.check, named_files))
    if settings.baseline:
        from trl_lint.linter.suppression.baseline import without_known

        results = without_known(results, linter)
    findings = [finding for result in results for finding in result.findings]
    problems = [result.problem for result in results if result.problem]
    if problems:
        raise LintError(problems, findings)
    return findings


@contextmanager
def _nothing_stays_frozen() -> Iterator[None]:
    """Undo the linter's `gc.freeze`, which assumes that the process ends soon.

    Objects that the caller has frozen stay frozen.
    """
    frozen = gc.get_freeze_count()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()
