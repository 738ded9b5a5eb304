"""The command line: `trl-lint [check] PATHS`, and the other commands, most of them in separate modules.

Start-up time matters, so everything but click is imported where it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from trl_lint import __version__, plain
from trl_lint.frontends.completion import complete_selectors, file_names
from trl_lint.frontends.options import FormatName, Options, pairs, refuse_clashes, settings_of, words
from trl_lint.frontends.terminal import fail, is_full, replace_closed_streams, say
from trl_lint.linter import ending
from trl_lint.settings import OUTPUT_FORMATS, ConfigError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Commands in separate modules, imported when they are used.
ELSEWHERE = {
    "explain": "trl_lint.frontends.explain_command",
    "rule": "trl_lint.frontends.rule_commands",
    "rules": "trl_lint.frontends.rule_commands",
    "server": "trl_lint.frontends.server.command",
    "verify": "trl_lint.verify.cli",
}
# Each new one looks for a translation of its name.
_PATH = click.Path(path_type=Path)


class Commands(click.Group):
    """A group that runs `check` if no command is named, and never ends in a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:  # a shell asks for completions: a command or the arguments of `check`
            return super().parse_args(ctx, args)
        if not args or args[0] not in {*self.list_commands(ctx), *self.get_help_option_names(ctx)}:
            if args:
                self._refuse_typo(ctx, args[0])
                self._refuse_late_command(ctx, args)
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def _refuse_typo(self, ctx: click.Context, word: str) -> None:
        """Stop at a word that is not a path but nearly a command: `chekc .` must not lint the current folder."""
        if word.startswith("-") or os.path.lexists(word):
            return
        from trl_lint.config import did_you_mean

        suggestion = did_you_mean(word, self.list_commands(ctx))
        if suggestion:
            raise click.UsageError(f"`{word}` is neither a command nor a path{suggestion}", ctx)

    def _refuse_late_command(self, ctx: click.Context, args: list[str]) -> None:
        """Stop at a command behind options, which would be a path to lint: `--no-cache explain FILE:LINE`."""
        options = [each for each in self.commands["check"].params if isinstance(each, click.Option)]
        with_value = {name for each in options if not each.is_flag for name in each.opts}
        words = iter(args)
        for word in words:
            if word == "--" or not word.startswith("-"):
                break
            if word in with_value:
                next(words, "")
        if word in self.list_commands(ctx) and not os.path.lexists(word):
            raise click.UsageError(f"`{word}` is no path; a command comes first: `trl-lint {word} …`", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        check = self.commands["check"]
        found = super().shell_complete(ctx, incomplete)
        found += check.shell_complete(click.Context(check, info_name="check", parent=ctx), incomplete)
        return list({each.value: each for each in found}.values()) or file_names(incomplete)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            command: click.Command = getattr(import_module(ELSEWHERE[cmd_name]), cmd_name)
            return command
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self.commands["check"], ctx, formatter)
        self.format_commands(ctx, formatter)

    def main(self, *args: Any, **options: Any) -> Any:
        replace_closed_streams()
        return super().main(*args, **options)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            fail(str(error))
        except KeyboardInterrupt:  # click would exit with 1, which means findings here
            say(ending.MESSAGE)
            sys.exit(ending.INTERRUPTED)
        except click.ClickException as error:  # it quotes the command line, which may contain any file name
            # Final in click's types, but there is no other way to change the message.
            error.message = plain.line(error.message)  # type: ignore[misc]
            raise
        except (click.Abort, click.exceptions.Exit, BrokenPipeError, ModuleNotFoundError):
            raise
        except Exception as error:
            if is_full(error):
                fail("cannot write the report: no space left on device")
            message = " ".join(f"{type(error).__name__}: {error}".split())
            fail(f"internal error: {message} (please report it)")


_Decorated = TypeVar("_Decorated", bound=Callable[..., object])


def _rules_option(name: str, text: str) -> Callable[[_Decorated], _Decorated]:
    return click.option(
        name, metavar="RULES", multiple=True, callback=words, shell_complete=complete_selectors, help=text
    )


_cache_dir_option = click.option(
    "--cache-dir",
    type=_PATH,
    help="Where results are cached; default: .trl_lint_cache next to the settings.",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Find, explain and fix bugs in fine-tuning code that only show up on more than one GPU.

    `trl-lint [OPTIONS] [PATHS]...` is short for `trl-lint check [OPTIONS] [PATHS]...`.
    """


@main.command(short_help="Lint files and folders (the default command).")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False))
@click.option("--fix", is_flag=True, help="Apply the safe fixes. With `-`, print the fixed code.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, without changing it.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Include unsafe fixes in --fix and --diff.")
@_rules_option(
    "--select",
    "What to report instead of the default set: codes, prefixes, names, consequences, severities or ALL.",
)
@_rules_option("--ignore", "What not to report: rules (TRL012), consequences (waste) or severities (note).")
@_rules_option("--extend-select", "What to report in addition to the selection.")
@click.option("--preview/--no-preview", default=None, help="Also run the preview rules.")
@click.option(
    "--per-file-ignores",
    metavar="PATTERN:CODE,...",
    multiple=True,
    callback=pairs,
    help="Rules to ignore in files that match a glob pattern; replaces the setting.",
)
@click.option(
    "--extend-include",
    metavar="PATTERNS",
    multiple=True,
    callback=words,
    help="More files to lint, such as `*.md` for the Python blocks of documentation.",
)
@click.option(
    "--output-format",
    type=FormatName(OUTPUT_FORMATS),
    help="Output format: text (default on a terminal), concise (default elsewhere: one line per finding), grouped "
    "(by file), json (ruff's form), json-lines, sarif, github, gitlab or junit; PLUGIN:NAME for one of a plugin.",
)
@click.option(
    "-o",
    "--output-file",
    type=_PATH,
    help="Write the report to this file instead of standard output.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show only findings and failures.")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="Colour in `text`; auto: on a terminal, unless NO_COLOR, FORCE_COLOR or TERM says otherwise.",
)
@click.option(
    "--stdin-filename",
    type=_PATH,
    help="Lint standard input (like `-`) under this name; settings and imports are looked up there.",
)
@click.option("--fix-only", is_flag=True, help="Apply the safe fixes, and do not report the rest.")
@click.option("--add-noqa", is_flag=True, help="Silence today's findings with `# noqa` comments.")
@click.option(
    "--baseline",
    type=_PATH,
    help="Hide the findings in this file, and remove those that are fixed.",
)
@click.option("--write-baseline", is_flag=True, help="Write today's findings to the baseline.")
@click.option("--statistics", is_flag=True, help="Show the number of findings for each rule.")
@click.option("--show-files", is_flag=True, help="List the files that would be linted.")
@click.option("--show-settings", is_flag=True, help="Show the settings and where each comes from.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if anything was fixed.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--config", type=_PATH, help="Read the settings from this file.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option(
    "--respect-gitignore/--no-respect-gitignore", default=True, show_default=True, help="Skip files that git ignores."
)
@click.option("--force-exclude", is_flag=True, help="Skip excluded files even if they are named.")
@click.option("--no-cache", is_flag=True, help="Do not use or write the cache.")
@_cache_dir_option
@click.version_option(__version__, prog_name="trl-lint", message="%(prog)s %(version)s")
def check(paths: tuple[Path, ...], **options_given: Any) -> NoReturn:
    """Lint files and folders (default: the current one); `-` reads standard input.

    Exits with 0 if there is nothing to report, 1 if there are findings, and 2 if trl-lint could not do its work.
    """
    options_given["fix"] |= options_given["fix_only"] and not options_given["diff"]
    options = Options(paths or (Path("."),), **options_given)
    refuse_clashes(options)
    if options.show_settings or options.show_files:
        from trl_lint.frontends import showing

        sys.exit(showing.show(options, settings_of(options)))
    from trl_lint.frontends import checking

    sys.exit(checking.check(options, settings_of(options)))


@main.command(short_help="Remove cached results.")
@_cache_dir_option
def clean(cache_dir: Path | None) -> None:
    """Remove the stored results of the project in the current folder."""
    from trl_lint.config import load_settings
    from trl_lint.linter.store import cache

    kept = cache.of(load_settings(Path.cwd()), cache_dir)
    if kept is not None:
        kept.clear()
