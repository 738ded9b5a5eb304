"""The settings of a run: the keys of `[tool.trl-lint]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

EVERY_RULE = "ALL"
# The findings of all rules that a user wants to see without selecting more.
DEFAULT_SET = "DEFAULT"

OUTPUT_FORMATS = ("text", "concise", "grouped", "json", "json-lines", "sarif", "github", "gitlab", "junit")
ENGINES = ("ddp", "fsdp", "deepspeed", "deepspeed-zero3")

# The fields that are no keys.
NO_KEYS = ("lightning", "root", "sources")

_T = TypeVar("_T")


# A table of a settings file, in hashable form.
Pairs = tuple[tuple[str, _T], ...]


class ConfigError(Exception):
    """An invalid setting. Its text is one line for the user."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run: the keys of `[tool.trl-lint]`, with `_` for `-` and pairs for a table.

    The text below each of them is its description in the documentation; `NO_KEYS` are none. `root` is the project's
    folder; None if there is no project file.
    """

    extend: str | None = None
    """Another settings file to inherit from: its values apply to all keys that this file does not set."""
    select: tuple[str, ...] = (DEFAULT_SET,)
    """What to report: rules by code, prefix (`TRL0`) or name, consequences (`deadlock`), severities, `DEFAULT`."""
    ignore: tuple[str, ...] = ()
    """What not to report, in the same words. If both match, the longer entry wins; on a tie, `ignore` wins."""
    extend_select: tuple[str, ...] = ()
    """What to report in addition to `select`."""
    preview: bool = False
    """Also run the preview rules. To run a single one, select it by its full code or name."""
    exclude: tuple[str, ...] = ()
    """Files and folders to skip: `.gitignore` patterns, relative to the folder of this file."""
    extend_include: tuple[str, ...] = ()
    """More files to lint, as patterns: `*.md` or `*.rst` for the Python blocks of documentation."""
    target_trl: str | None = None
    """The release of trl that the code is for, such as `"0.17.0"`. Default: the pinned one, else the installed one."""
    target_transformers: str | None = None
    """The same for transformers. Default: the pinned one, else the installed one."""
    unsafe_fixes: bool = False
    """Include unsafe fixes in `--fix` and `--diff`."""
    output_format: str | None = None
    """The output format; not one of a plugin. Default: `"text"` on a terminal, else `"concise"`."""
    cache_dir: str | None = None
    """The folder for cached results, relative to the folder of this file. Default: `".trl_lint_cache"`."""
    baseline: str | None = None
    """The file with known findings, which are not reported, relative to the folder of this file."""
    per_file_ignores: Pairs[tuple[str, ...]] = ()
    """Rules to ignore, by glob pattern of the files."""
    reducers: Pairs[str] = ()
    """Your functions that return the same on all processes, each with what it does."""
    guards: tuple[str, ...] = ()
    """Your functions and properties that are only true on some processes."""
    sinks: tuple[str, ...] = ()
    """Your functions that log the metrics passed to them."""
    unwrappers: tuple[str, ...] = ()
    """Your functions that return the bare model of a wrapped one."""
    trainer_bases: Pairs[str] = ()
    """Base classes outside the project, each with the trainer it behaves like; in a list, `transformers.Trainer`."""
    engines: tuple[str, ...] = ()
    """What wraps the trained model: `ddp`, `fsdp`, `deepspeed`, `deepspeed-zero3`. Default: read from the project."""
    launch_unknown_gpus: bool | None = None
    """Report launch commands that do not mention GPUs (TRL004). Default: only if more than `DEFAULT` is selected."""
    plugins: tuple[str, ...] = ()
    """Installed plugins to use, by the names of their entry points."""
    root: Path | None = None
    # The release of pytorch_lightning, as far as the project's files pin it.
    lightning: str | None = None
    # By key, the file that it comes from.
    sources: Pairs[str] = field(default=(), compare=False, repr=False)

    def with_targets(self, releases: Mapping[str, str]) -> Settings:
        """The settings with the releases of libraries where they name none."""
        trl = self.target_trl or releases.get("trl")
        transformers = self.target_transformers or releases.get("transformers")
        lightning = releases.get("pytorch_lightning")
        return replace(self, target_trl=trl, target_transformers=transformers, lightning=lightning)

    def own_names(self) -> tuple[str, ...]:
        """All dotted names of the user's own that the settings mention."""
        return tuple(name for key in OWN_NAMES for name in names_in(getattr(self, key)))


# The settings that add dotted names to the analysis.
OWN_NAMES = ("reducers", "guards", "sinks", "unwrappers", "trainer_bases")


def names_in(setting: Pairs[object] | tuple[str, ...]) -> Iterator[str]:
    """The names that a setting lists, or the keys of its table."""
    return (each if isinstance(each, str) else each[0] for each in setting)
