"""What `trl-lint check` does with its options: find the files, lint or mend them, report, and give the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.frontends.options import STDIN, Options
from trl_lint.frontends.terminal import CLEAN, FAILED, FINDINGS, fail, is_full, say, wants_colour
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.linter.linter import Linter
    from trl_lint.linter.runner import Action, FileResult
    from trl_lint.reports import Report


def check(options: Options, settings: Settings) -> int:
    """Run, report, and give the exit code."""
    report = _report(options, settings)
    linter = _linter(options, settings, edits=report.needs_edits)
    for result in _results(options, settings, linter):
        problem = _show(report, result)
        if problem:
            say(problem)
    report.close()
    for stream in (sys.stdout, sys.stderr):  # here click still knows what to do about a closed pipe
        stream.flush()
    if not report.tally.files:
        say("warning: no files to lint found under the given paths")
    if report.tally.problems:
        return FAILED
    return FINDINGS if report.anything and not options.exit_zero else CLEAN


def _linter(options: Options, settings: Settings, *, edits: bool) -> Linter:
    from trl_lint.config import selection
    from trl_lint.linter import cache
    from trl_lint.linter.discovery import import_roots

    # A file that is named by --config has its patterns read from the current folder, but is no sign of a project.
    root = None if options.config else settings.root
    wanted = selection(settings)
    asked = settings, import_roots(root, options.named), wanted.rules
    use = options.only_checks_files and not options.no_cache and not cache.is_off()
    kept = cache.of(settings, options.cache_dir) if use else None
    if kept is not None:
        from trl_lint.linter.cached_linter import CachedLinter

        return CachedLinter(*asked, kept, edits=edits, selection=wanted)
    from trl_lint.linter.linter import Linter

    return Linter(*asked, mends=options.fix or options.diff, selection=wanted)


def _show(report: Report, result: FileResult) -> str | None:
    """Hand a result to the report; give the line that says what could not be done, if there is one."""
    from trl_lint.linter.runner import internal_error

    try:
        report.add(result)
    except BrokenPipeError:
        raise
    except Exception as error:  # a fix builds its edits only when a report asks for them
        if is_full(error):
            raise
        report.tally.problems += 1
        return internal_error(result.path, error)
    return result.problem or result.note


def _results(options: Options, settings: Settings, linter: Linter) -> Iterator[FileResult]:
    from trl_lint.linter.discovery import find_files
    from trl_lint.linter.runner import FileResult, run, run_one

    action = _action(options, settings)
    if options.reads_stdin:
        if sys.stdin is None:
            fail("cannot read standard input: it is closed")
        source = sys.stdin.buffer.read()
        path = options.stdin_filename or STDIN
        out = _excluded(path, options, settings)
        if out:
            result = FileResult(path, source, relevant=False)
        else:
            result = run_one(path, source, linter, action, named=options.asked_for(path))
        if options.fixes_stdin:
            sys.stdout.buffer.write(result.source)
        yield result
        return
    files = find_files(
        options.paths,
        root=settings.root,
        exclude=settings.exclude,
        include=settings.extend_include,
        respect_gitignore=options.respect_gitignore,
        force_exclude=options.force_exclude,
        launches=linter.looks_for_launches,
    )
    named = {Path(os.path.abspath(path)) for path in options.paths if options.asked_for(path)}
    yield from run(files, linter, action, named)


def _excluded(path: Path, options: Options, settings: Settings) -> bool:
    """Whether the code on standard input stands for a file that --force-exclude leaves out."""
    from trl_lint.linter.discovery import is_excluded

    if not options.force_exclude or path == STDIN:
        return False
    respect = options.respect_gitignore
    return is_excluded(path, root=settings.root, exclude=settings.exclude, respect_gitignore=respect)


def _action(options: Options, settings: Settings) -> Action:
    from functools import partial

    from trl_lint.linter import runner

    if not options.fix and not options.diff:
        return runner.check
    in_place = not options.diff and not options.reads_stdin
    return partial(runner.mend if in_place else runner.propose, unsafe=settings.unsafe_fixes)


def _report(options: Options, settings: Settings) -> Report:
    from trl_lint import reports

    # Standard output is for the code where it is the code that was asked for.
    out = sys.stderr if options.fixes_stdin else sys.stdout
    if hasattr(out, "reconfigure"):  # no message may fail on a terminal that can't show it
        out.reconfigure(errors="backslashreplace")
    return reports.load("diff" if options.diff else settings.output_format or "text")(
        out,
        unsafe=settings.unsafe_fixes,
        fixing=options.fix or options.diff,
        colour=wants_colour(out),
    )
