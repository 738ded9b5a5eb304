"""The command line of `trl-lint check`, and the project's settings with the command line applied."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.linter.store.cache import Cache

STDIN = Path("-")


class Options(NamedTuple):
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
    extend_include: tuple[str, ...]
    output_format: str | None
    output_file: Path | None
    quiet: bool
    color: str
    stdin_filename: Path | None
    exit_zero: bool
    config: Path | None
    isolated: bool
    respect_gitignore: bool
    force_exclude: bool
    no_cache: bool
    cache_dir: Path | None
    add_noqa: bool = False
    baseline: Path | None = None
    write_baseline: bool = False
    statistics: bool = False
    show_files: bool = False
    show_settings: bool = False
    fix_only: bool = False
    exit_non_zero_on_fix: bool = False

    @property
    def reads_stdin(self) -> bool:
        """Whether the code comes from standard input; as in ruff, `--stdin-filename` is enough."""
        return self.paths == (STDIN,) or self.stdin_filename is not None

    @property
    def fixes_stdin(self) -> bool:
        return self.reads_stdin and self.fix and not self.diff

    @property
    def only_checks_files(self) -> bool:
        """Whether an earlier run may have computed the same result."""
        return not (self.fix or self.diff or self.reads_stdin)

    @property
    def named(self) -> tuple[Path, ...]:
        """What the user named: the paths, or the file that standard input represents."""
        return (self.stdin_filename or Path.cwd(),) if self.reads_stdin else self.paths

    def asked_for(self, path: Path) -> bool:
        """Whether the user named this very file, and not a folder that contains it."""
        return not self.force_exclude and not os.path.isdir(path)

    @property
    def start(self) -> Path:
        """Where the search for settings begins."""
        return self.named[0]


# Options, each with those that it can't be combined with.
_FIXES = ("--fix", "--fix-only", "--diff")
_CLASHES = {
    "--add-noqa": (
        *_FIXES,
        "--output-file",
        "--write-baseline",
        "--statistics",
        "--show-files",
        "--show-settings",
        "-",
    ),
    "--write-baseline": (*_FIXES, "--output-file", "--statistics", "--show-files", "--show-settings", "-"),
    "--statistics": ("--diff", "--fix-only"),
    "--show-files": (*_FIXES, "--output-file", "--show-settings", "--statistics", "-"),
    "--show-settings": (*_FIXES, "--output-file", "--statistics"),
    "--config": ("--isolated",),
}


def refuse_clashes(options: Options) -> None:
    """Stop at options that can't be combined.

    Raises:
        click.UsageError: there are such options.
    """
    if options.stdin_filename and options.paths not in ((Path("."),), (STDIN,)):
        raise click.UsageError("--stdin-filename can't be combined with paths: it names the code on standard input")
    if STDIN in options.paths and len(options.paths) > 1:
        raise click.UsageError("`-` can't be combined with other paths")
    for one, others in _CLASHES.items():
        for other in others if _is_given(options, one) else ():
            if _is_given(options, other):
                raise click.UsageError(f"{one} can't be combined with {'`-`' if other == '-' else other}")


def _is_given(options: Options, name: str) -> bool:
    return options.reads_stdin if name == "-" else bool(getattr(options, name.removeprefix("--").replace("-", "_")))


class FormatName(click.Choice):  # type: ignore[type-arg]
    """One of the output formats, or `PLUGIN:NAME`, which is checked later."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if ":" in value else super().convert(value, param, ctx)


def words(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Comma-separated values; the option may be repeated."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def pairs(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`PATTERN:CODE` pairs, separated by commas, grouped by pattern."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words(ctx, parameter, values):
        pattern, colon, selector = word.rpartition(":")
        if not (colon and pattern and selector):
            raise click.BadParameter(f"`{word}` is not PATTERN:CODE")
        found[pattern] = (*found.get(pattern, ()), selector)
    return tuple(found.items())


def stored_results(options: Options, settings: Settings) -> Cache | None:
    """The stored results of the project, if this run may use them."""
    from trl_lint.linter.store import cache

    if not options.only_checks_files or options.no_cache or cache.is_off():
        return None
    return cache.of(settings, options.cache_dir)


def settings_of(options: Options) -> Settings:
    """The settings of the project with the command line applied."""
    from trl_lint.config import load_settings, selection

    settings = load_settings(options.start, options.config, isolated=options.isolated)
    stored = stored_results(options, settings)
    if stored is not None:
        from trl_lint.linter.store import rule_cards

        rule_cards.take_stored(stored, settings.plugins)
    # Validated separately, so that any other error must be in a file.
    chosen = options.select, options.ignore, options.extend_select
    selection(Settings(None, *chosen, per_file_ignores=options.per_file_ignores, plugins=settings.plugins))
    if options.select:
        settings = replace(settings, select=options.select, ignore=(), extend_select=())
    # A rule that the command line names is not ignored because of a settings file.
    ignore = tuple(word for word in settings.ignore if word not in options.extend_select)
    return replace(
        settings,
        ignore=ignore + options.ignore,
        extend_select=settings.extend_select + options.extend_select,
        preview=settings.preview if options.preview is None else options.preview,
        per_file_ignores=options.per_file_ignores or settings.per_file_ignores,
        extend_include=settings.extend_include + options.extend_include,
        unsafe_fixes=settings.unsafe_fixes if options.unsafe_fixes is None else options.unsafe_fixes,
        output_format=options.output_format or settings.output_format,
        baseline=os.path.abspath(options.baseline) if options.baseline else settings.baseline,
    )
