"""Which rules run, and how: `[tool.trl-lint]`, the command line laid over it, and what they select."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trl_lint.rules.base import Rule

EVERY_RULE = "ALL"
OUTPUT_FORMATS = ("text", "concise", "json")


class ConfigError(Exception):
    """A setting nobody can act on. Its text is one line for the user."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run was asked to do. `root` is the project's folder; None when there is no project file."""

    select: tuple[str, ...] = (EVERY_RULE,)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    target_trl: str | None = None
    target_transformers: str | None = None
    unsafe_fixes: bool = False
    output_format: str | None = None
    root: Path | None = None


KEYS = tuple(field.name.replace("_", "-") for field in fields(Settings) if field.name != "root")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` for the known word closest to `word`, else nothing."""
    from difflib import get_close_matches

    spelled = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), spelled, n=1)
    return f"; did you mean `{spelled[close[0]]}`?" if close else ""


def load_settings(start: Path, config: Path | None = None, *, isolated: bool = False) -> Settings:
    """The settings that hold for `start`.

    They come from `config` when it is given, else from the nearest pyproject.toml at or above `start` that
    has a `[tool.trl-lint]` table. As in ruff, a pyproject.toml without the table does not hide one above it.

    Raises:
        ConfigError: a file that can't be read or a table that says something unknown.
    """
    if isolated:
        return Settings()
    if config is not None:
        table = _table(config)
        if table is None:
            raise ConfigError(f"{config}: has no [tool.trl-lint] table")
        return _settings(config, table, Path.cwd())
    return _nearest_settings(Path(os.path.abspath(start)))


def _nearest_settings(start: Path) -> Settings:
    nearest = None
    for folder in (start, *start.parents):
        project = folder / "pyproject.toml"
        if project.is_file():
            nearest = nearest or folder
            table = _table(project)
            if table is not None:
                return _settings(project, table, folder)
    return Settings(root=nearest)


def _table(path: Path) -> dict[str, Any] | None:
    """The `[tool.trl-lint]` table of a TOML file; None when it has none."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib

    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read: {error.strerror}") from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise ConfigError(f"{path}: cannot parse: {_one_line(error)}") from None
    tool = document.get("tool", {})
    table = tool.get("trl-lint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.trl-lint] must be a table")
    return table


def _settings(path: Path, table: Mapping[str, Any], root: Path) -> Settings:
    import msgspec

    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{path}: unknown key `{key}` in [tool.trl-lint]{did_you_mean(key, KEYS)}")
    try:
        values: Any = msgspec.convert(table, _schema())
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise ConfigError(f"{path}: [tool.trl-lint] {place.rstrip('`')}: {reason}") from None
    return Settings(**msgspec.structs.asdict(values), root=root)


def _schema() -> type:
    """What each key may hold. Built on demand, as msgspec is only worth importing when there is a table."""
    from typing import Annotated, Literal

    import msgspec

    words = tuple[str, ...]
    version = Annotated[str, msgspec.Meta(pattern=r"^\d+(\.\w+)*$")] | None
    kinds = {
        "select": words,
        "ignore": words,
        "extend_select": words,
        "exclude": words,
        "target_trl": version,
        "target_transformers": version,
        "unsafe_fixes": bool,
        "output_format": Literal[OUTPUT_FORMATS] | None,
    }
    defaults = Settings()
    columns = [(name, kind, getattr(defaults, name)) for name, kind in kinds.items()]
    return msgspec.defstruct("Table", columns, rename="kebab", frozen=True)


def selected_rules(settings: Settings) -> tuple[Rule, ...]:
    """The rules the settings ask for, sorted by code. The longer selector wins; in a draw, `ignore` does.

    Raises:
        ConfigError: a selector that fits no rule.
    """
    from trl_lint.rules import all_rules

    rules = all_rules()
    wanted = settings.select + settings.extend_select
    for selector in wanted + settings.ignore:
        if not any(_fit(selector, rule) >= 0 for rule in rules):
            raise ConfigError(f"unknown rule `{selector}`{did_you_mean(selector, rule_words())}")
    return tuple(rule for rule in rules if _best(wanted, rule) > _best(settings.ignore, rule))


def rule_words() -> list[str]:
    """Every code and every name, the words a user may mean."""
    from trl_lint.rules import all_rules

    return [word for rule in all_rules() for word in (rule.code, rule.name)]


def _best(selectors: Iterable[str], rule: Rule) -> int:
    return max((_fit(selector, rule) for selector in selectors), default=-1)


def _fit(selector: str, rule: Rule) -> int:
    """How closely a selector names a rule: the length of the code it spells out, -1 for not at all."""
    word = selector.strip().upper()
    if word == EVERY_RULE:
        return 0
    if word == rule.name.upper():
        return len(rule.code)
    return len(word) if word and rule.code.startswith(word) else -1


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
