"""The terminal: `trl-lint [check] PATHS`, `trl-lint rule`, `trl-lint rules`.

Start-up is part of the tool's speed, so everything but click is imported where it is used.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click

from trl_lint import __version__, plain
from trl_lint.linter import ending
from trl_lint.settings import OUTPUT_FORMATS, ConfigError, Settings

if TYPE_CHECKING:
    from trl_lint.linter.linter import Linter
    from trl_lint.linter.runner import Action, FileResult
    from trl_lint.reports import Report

STDIN = Path("-")
CLEAN, FINDINGS, FAILED = 0, 1, 2


# Commands that stand in a module of their own, imported once they are asked for.
ELSEWHERE = {"verify": "trl_lint.verify.cli"}


class Commands(click.Group):
    """A group that runs `check` when no command is named, and never ends in a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.list_commands(ctx), *self.get_help_option_names(ctx)}:
            if args:
                self._refuse_typo(ctx, args[0])
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def _refuse_typo(self, ctx: click.Context, word: str) -> None:
        """Stop at a word that is no path but nearly a command: `chekc .` must not lint the current folder."""
        if word.startswith("-") or os.path.lexists(word):
            return
        from trl_lint.config import did_you_mean

        meant = did_you_mean(word, self.list_commands(ctx))
        if meant:
            raise click.UsageError(f"`{word}` is neither a command nor a path{meant}", ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            command: click.Command = getattr(import_module(ELSEWHERE[cmd_name]), cmd_name)
            ending.raise_from_here()  # it starts processes, which it has to end
            return command
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self.commands["check"], ctx, formatter)
        self.format_commands(ctx, formatter)

    def main(self, *args: Any, **options: Any) -> Any:
        _stand_in_for_closed_streams()
        return super().main(*args, **options)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            _fail(str(error))
        except KeyboardInterrupt:  # click would exit with 1, which here means findings
            _say(ending.SAID)
            sys.exit(ending.INTERRUPTED)
        except click.ClickException as error:  # it names what stood on the command line, which a shell may have found
            # Final where click is typed, but there is no other way to change what it says.
            error.message = plain.line(error.message)  # type: ignore[misc]
            raise
        except (click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if _is_full(error):
                _fail("cannot write what was found: no space left on device")
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
        """Whether the code is that of standard input; as in ruff, a name for it is enough to say so."""
        return self.paths == (STDIN,) or self.stdin_filename is not None

    @property
    def fixes_stdin(self) -> bool:
        return self.reads_stdin and self.fix and not self.diff

    @property
    def only_checks_files(self) -> bool:
        """Whether the same result may have been found by an earlier run."""
        return not (self.fix or self.diff or self.reads_stdin)

    @property
    def named(self) -> tuple[Path, ...]:
        """What the user speaks of: the paths, or what standard input stands for."""
        return (self.stdin_filename or Path.cwd(),) if self.reads_stdin else self.paths

    def asked_for(self, path: Path) -> bool:
        """Whether the user wants to know of this very file, and not of what is there to be found."""
        return not self.force_exclude and not os.path.isdir(path)

    @property
    def start(self) -> Path:
        """Where the search for settings begins."""
        return self.named[0]


def _words(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Comma separated values, however often the option was given."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _pairs(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`PATTERN:CODE` pairs, separated by commas, by pattern."""
    found: dict[str, tuple[str, ...]] = {}
    for word in _words(ctx, parameter, values):
        pattern, colon, selector = word.rpartition(":")
        if not (colon and pattern and selector):
            raise click.BadParameter(f"`{word}` is not PATTERN:CODE")
        found[pattern] = (*found.get(pattern, ()), selector)
    return tuple(found.items())


_Decorated = TypeVar("_Decorated", bound=Callable[..., object])


def _rules_option(name: str, text: str) -> Callable[[_Decorated], _Decorated]:
    return click.option(name, metavar="RULES", multiple=True, callback=_words, help=text)


_cache_dir_option = click.option(
    "--cache-dir",
    type=click.Path(path_type=Path),
    help="Where results are kept; default: .trl_lint_cache beside pyproject.toml.",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Find, explain and fix the bugs of fine-tuning code that only show up on more than one GPU.

    `trl-lint [OPTIONS] [PATHS]...` is short for `trl-lint check [OPTIONS] [PATHS]...`.
    """


@main.command(short_help="Lint files and folders; this is what runs when no command is named.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False))
@click.option("--fix", is_flag=True, help="Apply the safe fixes. With `-` the fixed code goes to stdout.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Let --fix and --diff take unsafe fixes, too.")
@_rules_option(
    "--select", "What to report, instead of the default set: rules by code, prefix or name, consequences, ALL."
)
@_rules_option("--ignore", "What to leave out: rules (TRL012) or consequences (waste).")
@_rules_option("--extend-select", "What to add to that which the settings select.")
@click.option("--preview/--no-preview", default=None, help="Run the preview rules as well.")
@click.option(
    "--per-file-ignores",
    metavar="PATTERN:CODE,...",
    multiple=True,
    callback=_pairs,
    help="Rules to leave out in the files that a glob pattern fits, instead of what the settings say.",
)
@click.option(
    "--output-format",
    type=click.Choice(OUTPUT_FORMATS),
    help="How findings are shown: text (default), concise (a line for each) or json (ruff's form).",
)
@click.option(
    "--stdin-filename",
    type=click.Path(path_type=Path),
    help="Read standard input (as `-` does), and call it so; the settings and imports are those of that place.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.option("--config", type=click.Path(path_type=Path), help="Read [tool.trl-lint] from this file.")
@click.option("--isolated", is_flag=True, help="Read no settings from any file.")
@click.option(
    "--respect-gitignore/--no-respect-gitignore", default=True, show_default=True, help="Skip what git ignores."
)
@click.option(
    "--force-exclude", is_flag=True, help="Leave out what the settings and git exclude, even when it is named."
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep the results of earlier runs.")
@_cache_dir_option
@click.version_option(__version__, prog_name="trl-lint", message="%(prog)s %(version)s")
def check(paths: tuple[Path, ...], **given: Any) -> NoReturn:
    """Lint files and folders (default: the current one); `-` reads standard input.

    Exits with 0 when nothing is left to report, 1 when there are findings, and 2 when the tool could not do
    its work.
    """
    options = Options(paths or (Path("."),), **given)
    if options.stdin_filename and paths not in ((), (STDIN,)):
        raise click.UsageError("--stdin-filename can't be combined with paths: it names the code on standard input")
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
    click.echo(found.page)


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
    from trl_lint.config import load_settings
    from trl_lint.linter import cache

    kept = cache.of(load_settings(Path.cwd()), cache_dir)
    if kept is not None:
        kept.clear()


def _stand_in_for_closed_streams() -> None:
    """Without a stream (`>&-`) what goes there is lost, as nobody wants it; no file may take the stream's number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if name != "stdin":
                setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))


def _is_full(error: Exception) -> bool:
    """Whether there is no room for what goes to a stream, which has no name as files have."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None


def _say(text: str) -> None:
    """One line on standard error, whatever characters the names in it have."""
    click.echo(plain.line(text), err=True)


def _fail(message: str) -> NoReturn:
    _say(f"trl-lint: {message}")
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
            _say(problem)
    report.close()
    for stream in (sys.stdout, sys.stderr):  # here click still knows what to do about a closed pipe
        stream.flush()
    if not report.tally.files:
        _say("warning: no files to lint found under the given paths")
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
        if _is_full(error):
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
            _fail("cannot read standard input: it is closed")
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
        colour=_wants_colour(out),
    )


def _wants_colour(out: TextIO) -> bool:
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
