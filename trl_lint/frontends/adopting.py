"""Adopt an old code base: add comments that silence its findings, or write a baseline that hides them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trl_lint.frontends.options import Options
from trl_lint.frontends.terminal import CLEAN, FAILED, FINDINGS, say
from trl_lint.settings import ConfigError, Settings

if TYPE_CHECKING:
    from trl_lint.linter.linter import Linter
    from trl_lint.linter.runner import FileResult


def add_noqa(results: Sequence[FileResult]) -> int:
    """Report what was silenced and what could not be, and return the exit code."""
    from trl_lint import plain, reports

    tally = reports.Tally()
    for result in results:
        tally.add(result)
        if result.problem or result.note:
            say(result.problem or result.note or "")
        for finding, reason in result.withheld:
            say(f"{reports.place(finding)}: {finding.code}: not silenced: {reason}")
    files = len({finding.path for finding in tally.applied})
    done = f"Silenced {reports.many(len(tally.applied), 'finding')} in {reports.many(files, 'file')}."
    for line in (done, reports.looked_at(tally)):
        print(plain.line(line))
    sys.stdout.flush()
    return FAILED if tally.problems else FINDINGS if tally.findings else CLEAN


def write_baseline(options: Options, settings: Settings, run: Iterable[FileResult], linter: Linter) -> int:
    """Write the current findings to the baseline, and return the exit code.

    run: the results, which are not computed before it is clear that the baseline can be written.

    Raises:
        ConfigError: the existing file is not a baseline, or no path is given.
    """
    from trl_lint import plain, reports
    from trl_lint.linter.files.discovery import display_path
    from trl_lint.linter.suppression.baseline import path_of, read_to_write, updated

    path = path_of(settings)
    if path is None:
        raise ConfigError("--write-baseline needs --baseline FILE, or the setting `baseline`")
    before = read_to_write(path)
    results = list(run)
    problems = [each.problem for each in results if each.problem]
    for result in results:
        if result.problem or result.note:
            say(result.problem or result.note or "")
    if problems:
        say(f"{display_path(path)}: not written, because some files could not be linted")
        return FAILED
    new = updated(before, results, linter, options.paths)
    failed = new.write()
    if failed:
        say(failed)
        return FAILED
    count = reports.many(sum(new.entries.values()), "finding")
    files = reports.many(len({each.path for each in new.entries}), "file")
    print(plain.line(f"{display_path(path)}: {count} in {files}"))
    sys.stdout.flush()
    return CLEAN


def without_known(options: Options, settings: Settings, run: Iterable[FileResult], linter: Linter) -> list[FileResult]:
    """The results without those in the baseline. After a run on the whole project, fixed findings are removed from it.

    run: see `write_baseline`.

    Raises:
        ConfigError: the baseline can't be read.
    """
    from trl_lint import reports
    from trl_lint.linter.files.discovery import around_project, display_path
    from trl_lint.linter.suppression.baseline import match, of

    baseline = of(settings)
    if baseline is None:
        return list(run)
    results = list(run)
    matched = match(baseline, results, linter)
    changes = matched.left != baseline.entries
    sees_all = around_project(options.paths, linter.roots) and baseline.is_covered_by(options.paths)
    if changes and _is_whole(options) and sees_all:
        removed_count = sum(baseline.entries.values()) - sum(matched.left.values())
        baseline.entries = matched.left
        failed = baseline.write()
        if failed or removed_count:
            verb = "is" if removed_count == 1 else "are"
            removed = f"removed {reports.many(removed_count, 'finding')} that {verb} no longer there"
            say(failed or f"{display_path(baseline.path)}: {removed}")
    return matched.results


def _is_whole(options: Options) -> bool:
    """Whether a run only checks files."""
    return options.only_checks_files
