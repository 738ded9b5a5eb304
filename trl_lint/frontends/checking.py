"""`trl-lint check`: find the files, lint or fix them, report, and return the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.frontends.options import STDIN, Options, stored_results
from trl_lint.frontends.output import Output
from trl_lint.frontends.progress import Progress
from trl_lint.frontends.terminal import CLEAN, FAILED, FINDINGS, fail, is_full, say
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.linter.files.discovery import PathProblem
    from trl_lint.linter.linter import Linter
    from trl_lint.linter.runner import Action, FileResult
    from trl_lint.reports import Report


def check(options: Options, settings: Settings) -> int:
    """Run, report, and return the exit code."""
    # With --fix and `-`, standard output is for the fixed code.
    output = Output(options.output_file, sys.stderr if options.fixes_stdin else sys.stdout)
    report = _report(options, settings, output)
    linter = _linter(options, settings, edits=report.needs_edits)
    progress = Progress()
    if not options.quiet:
        linter.on_progress = progress.update
    linter.comments.judged_below = _judged_below(options, linter)
    linter.sees_all = bool(linter.comments.judged_below)
    left_out: list[Path] = []
    results: Iterable[FileResult] = progress.ends_with(_results(options, settings, linter, left_out))
    if options.add_noqa or options.write_baseline or settings.baseline:
        from trl_lint.frontends import adopting

        if options.add_noqa:
            return adopting.add_noqa(list(results))
        if options.write_baseline:
            return adopting.write_baseline(options, settings, results, linter)
        results = adopting.without_known(options, settings, results, linter)
    for result in results:
        problem = _show(report, result._replace(findings=()) if options.fix_only else result)
        if problem:
            say(problem)
    report.tally.left_out = len(left_out)
    report.close()
    output.close()
    for stream in (sys.stdout, sys.stderr):  # here click can still handle a closed pipe
        stream.flush()
    if not report.tally.files and not options.quiet:
        say("warning: no files to lint found under the given paths")
    return _exit_code(options, report)


def _exit_code(options: Options, report: Report) -> int:
    if report.tally.problems:
        return FAILED
    tells_fixes = options.exit_non_zero_on_fix and (report.tally.applied or report.tally.partly)
    return FINDINGS if tells_fixes or (report.anything and not options.exit_zero) else CLEAN


def _judged_below(options: Options, linter: Linter) -> tuple[Path, ...]:
    """The named folders in which a comment can be said to silence nothing."""
    from trl_lint.linter.files.discovery import around_project

    return around_project(() if options.reads_stdin else options.paths, linter.roots)


def _linter(options: Options, settings: Settings, *, edits: bool) -> Linter:
    from trl_lint.config import selection
    from trl_lint.linter.files.discovery import import_roots

    # A file given by --config has its patterns relative to the current folder, but does not mark a project.
    root = None if options.config else settings.root
    wanted = selection(settings)
    place = settings, import_roots(root, options.named)
    stored = stored_results(options, settings)
    if stored is not None:
        from trl_lint.linter.cached_linter import CachedLinter

        return CachedLinter(*place, wanted.cards, stored, edits=edits, selection=wanted)
    from trl_lint.linter.linter import Linter

    return Linter(*place, wanted.rules, can_fix=options.fix or options.diff, selection=wanted)


def _show(report: Report, result: FileResult) -> str | None:
    """Pass a result to the report; return the line that says what could not be done, if any."""
    from trl_lint.linter.runner import internal_error

    try:
        report.add(result)
    except BrokenPipeError:
        raise
    except Exception as error:  # the edits of a fix are computed only when a report needs them
        if is_full(error):
            raise
        report.tally.problems += 1
        return internal_error(result.path, error)
    return result.problem or (None if report.quiet else result.note)


def _results(options: Options, settings: Settings, linter: Linter, left_out: list[Path]) -> Iterator[FileResult]:
    """The result for each file; `left_out` collects the files that patterns hide."""
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
    files = files_of(options, settings, launches=linter.looks_for_launches, left_out=left_out)
    named = {Path(os.path.abspath(path)) for path in options.paths if options.asked_for(path)}
    yield from run(files, linter, action, named)


def files_of(
    options: Options, settings: Settings, *, launches: bool, left_out: list[Path] | None = None
) -> Iterator[Path | PathProblem]:
    """The files that a run looks at. left_out: collects those that patterns exclude."""
    from trl_lint.linter.files.discovery import find_files

    return find_files(
        options.paths,
        root=settings.root,
        exclude=settings.exclude,
        include=settings.extend_include,
        respect_gitignore=options.respect_gitignore,
        force_exclude=options.force_exclude,
        launches=launches,
        left_out=left_out,
    )


def _excluded(path: Path, options: Options, settings: Settings) -> bool:
    """Whether the code on standard input is for a file that --force-exclude excludes."""
    from trl_lint.linter.files.discovery import is_excluded

    if not options.force_exclude or path == STDIN:
        return False
    respect = options.respect_gitignore
    return is_excluded(path, root=settings.root, exclude=settings.exclude, respect_gitignore=respect)


def _action(options: Options, settings: Settings) -> Action:
    from functools import partial

    from trl_lint.linter import runner

    if options.add_noqa:
        from trl_lint.linter.suppression.add_noqa import annotate

        return annotate
    if not options.fix and not options.diff:
        return runner.check
    in_place = not options.diff and not options.reads_stdin
    return partial(runner.fix_file if in_place else runner.propose, unsafe=settings.unsafe_fixes)


# The report for counts, by the chosen output format.
_STATISTICS = {"text": "statistics", "concise": "statistics", "json": "statistics_json"}


def _format(options: Options, settings: Settings, output: Output) -> str:
    """The output format of this run."""
    if options.diff:
        return "diff"
    chosen = settings.output_format or ("text" if output.is_terminal else "concise")
    if not options.statistics:
        return chosen
    if chosen not in _STATISTICS:
        fail(f"--statistics has no `{chosen}` format; it can be {', '.join(f'`{each}`' for each in _STATISTICS)}")
    return _STATISTICS[chosen]


def _report(options: Options, settings: Settings, output: Output) -> Report:
    from trl_lint import reports

    return reports.load(_format(options, settings, output), settings.plugins)(
        output.stream,
        unsafe=settings.unsafe_fixes,
        fixing=options.fix or options.diff,
        colour=output.wants_colour(options.color),
        quiet=options.quiet,
        root=settings.root,
    )
