"""The terminal: `trl-lint [check] PATHS`, `trl-lint rule`, `trl-lint rules`.

Start-up is part of the tool's speed, so everything but click is imported where it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from trl_lint import __version__
from trl_lint.config import OUTPUT_FORMATS, ConfigError, Settings

if TYPE_CHECKING:
    from trl_lint.linter import Linter
    from trl_lint.reports import Report
    from trl_lint.runner import Action, FileResult

STDIN = Path("-")
CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130


# Commands that stand in a module of their own, imported once they are asked for.
ELSEWHERE = {"verify": "trl_lint.verify.cli"}


class Commands(click.Group):
    """A group that runs `check` when no command is named, and never ends in a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.list_commands(ctx), *self.get_help_option_names(ctx)}:
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            return getattr(import_module(ELSEWHERE[cmd_name]), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self.commands["check"], ctx, formatter)
        self.format_commands(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            _fail(str(error))
        except KeyboardInterrupt:  # click would exit with 1, which here means findings
            sys.exit(INTERRUPTED)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            _fail(f"internal error: {said} (please report it)")


@dataclass(frozen=True, slots=True)
class Options:
    """The command line of `check`."""

    paths: tuple[Path, ...]
    fix: bool
    diff: bool
    unsafe_fixes: bool | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    extend_select: tuple[str, ...]
    preview: bool | None
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...]
    output_format: str | None
    stdin_filename: Path | None
    exit_zero: bool
    config: Path | None
    isolated: bool
    respect_gitignore: bool
    force_exclude: bool
    no_cache: bool
    cache_dir: Path | None

    @property
    def reads_stdin(self) -> bool:
        return self.paths == (STDIN,)

    @property
    def fixes_stdin(self) -> bool:
        return self.reads_stdin and self.fix and not self.diff

    @property
    def only_checks_files(self) -> bool:
        """Whether the same result may have been found by an earlier run."""
        return not (self.fix or self.diff or self.reads_stdin)

    @property
    def start(self) -> Path:
        """Where the search for settings begins."""
        if self.reads_stdin:
            return self.stdin_filename or Path.cwd()
        return self.paths[0]


def _words(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Comma separated values, however often the option was given."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _pairs(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """`PATTERN:CODE` pairs, separated by commas, by pattern."""
    found: dict[str, tuple[str, ...]] = {}
    for word in _words(ctx, parameter, values):
        pattern, colon, selector = word.rpartition(":")
        if not (colon and pattern and selector):
            raise click.BadParameter(f"`{word}` is not PATTERN:CODE")
        found[pattern] = (*found.get(pattern, ()), selector)
    return tuple(found.items())


def _rules_option(name: str, text: str) -> Any:
    return click.option(name, metavar="RULES", multiple=True, callback=_words, help=text)


_cache_dir_option = click.option(
    "--cache-dir", type=click.Path(path_type=Path), help="Where results are kept; default: .trl_lint_cache."
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Find, explain and fix the bugs of fine-tuning code that only show up on more than one GPU.

    `trl-lint [OPTIONS] [PATHS]...` is short for `trl-lint check [OPTIONS] [PATHS]...`.
    """


@main.command(short_help="Lint files and folders; this is what runs when no command is named.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--fix", is_flag=True, help="Apply the safe fixes. With `-` the fixed code goes to stdout.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Let --fix apply unsafe fixes, too.")
@_rules_option("--select", "Codes, prefixes or names of the rules to run, separated by commas.")
@_rules_option("--ignore", "Rules to leave out.")
@_rules_option("--extend-select", "Rules to add to those the settings select.")
@click.option("--preview/--no-preview", default=None, help="Run the preview rules as well.")
@click.option(
    "--per-file-ignores",
    metavar="PATTERN:CODE,...",
    multiple=True,
    callback=_pairs,
    help="Rules to leave out in the files that a glob pattern fits.",
)
@click.option(
    "--output-format", type=click.Choice(OUTPUT_FORMATS), help="How findings are shown; default: text."
)
@click.option(
    "--stdin-filename", type=click.Path(path_type=Path), help="What to call the code read from `-`."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.option("--config", type=click.Path(path_type=Path), help="Read [tool.trl-lint] from this file.")
@click.option("--isolated", is_flag=True, help="Read no settings from any file.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=True, help="Skip what git ignores.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even when they are named.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep the results of earlier runs.")
@_cache_dir_option
@click.version_option(__version__, prog_name="trl-lint", message="%(prog)s %(version)s")
def check(paths: tuple[Path, ...], **given: Any) -> NoReturn:
    """Lint files and folders (default: the current one); `-` reads standard input.

    Exits with 0 when nothing is left to report, 1 when there are findings, and 2 when the tool could not do
    its work.
    """
    options = Options(paths or (Path("."),), **given)
    if STDIN in options.paths and len(options.paths) > 1:
        raise click.UsageError("`-` can't be combined with other paths")
    if options.config and options.isolated:
        raise click.UsageError("--config can't be combined with --isolated")
    sys.exit(_check(options, _settings(options)))


@main.command()
@click.argument("rule", metavar="CODE|NAME")
def rule(rule: str) -> None:
    """Print the documentation of a rule."""
    from trl_lint.config import did_you_mean, rule_words
    from trl_lint.rules import find_rule

    found = find_rule(rule)
    if found is None:
        _fail(f"unknown rule `{rule}`{did_you_mean(rule, rule_words())}")
    preview = "\n\n*Preview: off by default. `--preview` turns it on, as selecting it by its code or name does.*"
    click.echo(f"# {found.name} ({found.code}){preview * found.preview}\n\n{found.documentation}")


@main.command(short_help="List all rules.")
def rules() -> None:
    """List all rules: code, name, whether there is a fix, and what it is about."""
    from trl_lint.rules import all_rules

    width = max(len(rule.name) for rule in all_rules())
    for rule in all_rules():
        has = "fix" if rule.has_fix else "-"
        click.echo(f"{rule.code}  {rule.name:<{width}}  {has:<3}  {'preview: ' * rule.preview}{rule.summary}")


@main.command(short_help="Remove the results that were kept.")
@_cache_dir_option
def clean(cache_dir: Path | None) -> None:
    """Remove the results that were kept of the project in the current folder."""
    from trl_lint.cache import Cache, folder_of
    from trl_lint.config import load_settings

    Cache(folder_of(load_settings(Path.cwd()), cache_dir)).clear()


def _fail(message: str) -> NoReturn:
    click.echo(f"trl-lint: {message}", err=True)
    sys.exit(FAILED)


def _settings(options: Options) -> Settings:
    """The settings of the project with the command line laid over them."""
    from trl_lint.config import load_settings

    settings = load_settings(options.start, options.config, isolated=options.isolated)
    if options.select:
        settings = replace(settings, select=options.select, ignore=(), extend_select=())
    # What the command line asks for by name is not ignored because a file says so.
    ignore = tuple(word for word in settings.ignore if word not in options.extend_select)
    return replace(
        settings,
        ignore=ignore + options.ignore,
        extend_select=settings.extend_select + options.extend_select,
        preview=settings.preview if options.preview is None else options.preview,
        per_file_ignores=options.per_file_ignores or settings.per_file_ignores,
        unsafe_fixes=settings.unsafe_fixes if options.unsafe_fixes is None else options.unsafe_fixes,
        output_format=options.output_format or settings.output_format,
    )


def _check(options: Options, settings: Settings) -> int:
    """Run, report, and give the exit code."""
    report = _report(options, settings)
    linter = _linter(options, settings, edits=report.needs_edits)
    for result in _results(options, settings, linter):
        problem = _show(report, result)
        if problem:
            click.echo(problem, err=True)
    report.close()
    for stream in (sys.stdout, sys.stderr):  # here click still knows what to do about a closed pipe
        stream.flush()
    if not report.tally.files:
        click.echo("warning: no files to lint found under the given paths", err=True)
    if report.tally.problems:
        return FAILED
    return FINDINGS if report.anything and not options.exit_zero else CLEAN


def _linter(options: Options, settings: Settings, *, edits: bool) -> Linter:
    from trl_lint import cache
    from trl_lint.config import selected_rules
    from trl_lint.discovery import import_roots

    asked = settings, import_roots(settings.root, options.paths), selected_rules(settings)
    if options.only_checks_files and not options.no_cache and not cache.is_off():
        from trl_lint.cached_linter import CachedLinter

        kept = cache.Cache(cache.folder_of(settings, options.cache_dir))
        return CachedLinter(*asked, kept, edits=edits)
    from trl_lint.linter import Linter

    return Linter(*asked)


def _show(report: Report, result: FileResult) -> str | None:
    """Hand a result to the report; give the line that says what could not be done, if there is one."""
    from trl_lint.runner import internal_error

    try:
        report.add(result)
    except BrokenPipeError:
        raise
    except Exception as error:  # a fix builds its edits only when a report asks for them
        report.tally.problems += 1
        return internal_error(result.path, error)
    return result.problem or result.note


def _results(options: Options, settings: Settings, linter: Linter) -> Iterator[FileResult]:
    from trl_lint.config import selected_rules
    from trl_lint.discovery import find_files
    from trl_lint.runner import FileResult, run, run_one

    action = _action(options, settings)
    if options.reads_stdin:
        source = sys.stdin.buffer.read()
        path = options.stdin_filename or STDIN
        out = _excluded(path, options, settings)
        result = FileResult(path, source) if out else run_one(path, source, linter, action)
        if options.fixes_stdin:
            sys.stdout.buffer.write(result.source)
        yield result
        return
    files = find_files(
        options.paths,
        root=settings.root,
        exclude=settings.exclude,
        respect_gitignore=options.respect_gitignore,
        force_exclude=options.force_exclude,
        launches=any(rule.launches for rule in selected_rules(settings)),
    )
    yield from run(files, linter, action)


def _excluded(path: Path, options: Options, settings: Settings) -> bool:
    """Whether the code on standard input stands for a file that --force-exclude leaves out."""
    from trl_lint.discovery import is_excluded

    if not options.force_exclude or path == STDIN:
        return False
    respect = options.respect_gitignore
    return is_excluded(path, root=settings.root, exclude=settings.exclude, respect_gitignore=respect)


def _action(options: Options, settings: Settings) -> Action:
    from functools import partial

    from trl_lint import runner

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
        colour=_wants_colour(out),
    )


def _wants_colour(out: TextIO) -> bool:
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
