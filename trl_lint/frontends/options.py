"""The command line of `trl-lint check`, and the settings of the project with it laid over them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import click

from trl_lint.settings import Settings

STDIN = Path("-")


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
    extend_include: tuple[str, ...]
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


def words(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Comma separated values, however often the option was given."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def pairs(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`PATTERN:CODE` pairs, separated by commas, by pattern."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words(ctx, parameter, values):
        pattern, colon, selector = word.rpartition(":")
        if not (colon and pattern and selector):
            raise click.BadParameter(f"`{word}` is not PATTERN:CODE")
        found[pattern] = (*found.get(pattern, ()), selector)
    return tuple(found.items())


def settings_of(options: Options) -> Settings:
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
        extend_include=settings.extend_include + options.extend_include,
        unsafe_fixes=settings.unsafe_fixes if options.unsafe_fixes is None else options.unsafe_fixes,
        output_format=options.output_format or settings.output_format,
    )
