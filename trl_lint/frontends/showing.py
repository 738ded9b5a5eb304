"""`--show-settings` and `--show-files`: which settings a run would use, and which files it would look at."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path

from trl_lint import plain
from trl_lint.frontends.options import Options
from trl_lint.frontends.terminal import CLEAN, FAILED, say
from trl_lint.settings import NO_KEYS, Settings


def show(options: Options, settings: Settings) -> int:
    """Print what was asked for, and return the exit code.

    Raises:
        ConfigError: the settings are invalid.
    """
    from trl_lint.config import selection

    selection(settings)
    if options.cache_dir:
        settings = replace(settings, cache_dir=str(options.cache_dir))
    if options.show_settings:
        for line in _settings(options, settings):
            print(plain.line(line))
        code = CLEAN
    else:
        code = _show_files(options, settings)
    sys.stdout.flush()
    return code


def _settings(options: Options, settings: Settings) -> Iterator[str]:
    """The settings as a table that can be pasted, each with its source; keys without a value are comments."""
    yield f"# {_about(options, settings)}"
    yield "[tool.trl-lint]"
    files, tables = dict(settings.sources), []
    for field in fields(Settings):
        key = field.name.replace("_", "-")
        if key in ("extend", *NO_KEYS):
            continue  # inherited values are listed under their keys
        value = getattr(settings, field.name)
        source = _source(options, key, files)
        if field.name in _TABLES:
            tables.append((key, dict(value), source))
        elif value is None:
            yield f"# {key} =  # {source}"
        else:
            yield f"{key} = {_toml(value)}  # {source}"
    for key, table, source in tables:
        yield f"{key} = {_toml(table)}  # {source}"


def _about(options: Options, settings: Settings) -> str:
    used = list(dict.fromkeys(path for _, path in settings.sources))
    origin = f"from {' and '.join(used)}" if used else "no file has settings"
    return f"The settings for {options.start.resolve()}: {origin}."


_TABLES = ("per_file_ignores", "reducers", "trainer_bases")


def _source(options: Options, key: str, files: Mapping[str, str]) -> str:
    if getattr(options, key.replace("-", "_"), None) not in (None, (), False):  # the option with its name overrides it
        both = key in files and key in ("ignore", "extend-select") and not options.select
        return f"{files[key]} and the command line" if both else "the command line"
    is_overridden = options.select and key in ("ignore", "extend-select")
    return "default" if is_overridden else files.get(key, "default")


def _toml(value: object) -> str:
    """A value in TOML; its strings are those of JSON."""
    if isinstance(value, dict):
        return (
            "{ " * bool(value)
            + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items())
            + (" }" if value else "{}")
        )
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _show_files(options: Options, settings: Settings) -> int:
    from trl_lint.config import selected_rules
    from trl_lint.frontends.checking import files_of
    from trl_lint.linter.files.discovery import PathProblem, display_path
    from trl_lint.rules.base import LaunchRule

    code = CLEAN
    launches = any(isinstance(rule, LaunchRule) for rule in selected_rules(settings))
    for item in files_of(options, settings, launches=launches):
        if isinstance(item, PathProblem):
            say(f"{display_path(item.path)}: {item.message}")
            code = code if item.passed_over else FAILED
        else:
            print(plain.line(display_path(Path(item))))
    return code
