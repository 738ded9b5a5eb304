"""Which rules run, and how: `[tool.trl-lint]`, the command line that overrides it, and what they select."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from itertools import product, starmap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trl_lint import setting_files
from trl_lint.findings import Consequence, Severity
from trl_lint.pins import pinned_releases
from trl_lint.setting_files import SettingFile
from trl_lint.settings import (
    DEFAULT_SET,
    ENGINES,
    EVERY_RULE,
    NO_KEYS,
    OUTPUT_FORMATS,
    OWN_NAMES,
    ConfigError,
    Settings,
    names_in,
)
from trl_lint.toml import Table, Toml

if TYPE_CHECKING:
    from trl_lint.rules.base import BaseRule
    from trl_lint.rules.cards import Card

    # A rule, or all that is known of it without importing it.
    AnyRule = BaseRule | Card


KEYS = tuple(field.name.replace("_", "-") for field in fields(Settings) if field.name not in NO_KEYS)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` with the known word closest to `word`, or nothing."""
    from difflib import get_close_matches

    spelled = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), spelled, n=1)
    return f"; did you mean `{spelled[close[0]]}`?" if close else ""


def load_settings(start: Path, config: Path | None = None, *, isolated: bool = False) -> Settings:
    """The settings for `start`.

    They come from `config` if it is given, otherwise from the nearest settings file at or above `start`; see
    `setting_files.py`. Releases that neither names are those that the project pins; see `pins.py`.

    Raises:
        ConfigError: a file can't be read, or its table has unknown content.
    """
    if isolated:
        return Settings()
    if config is not None:
        return _settings(setting_files.named(config), Path.cwd()).with_targets(pinned_releases(Path.cwd()))
    start = Path(os.path.abspath(start))
    found, root = setting_files.nearest(start)
    settings = Settings(root=root) if found is None else _settings(found, root)
    return settings.with_targets(pinned_releases(start))


def _settings(file: SettingFile, root: Path | None) -> Settings:
    values: dict[str, object] = {}
    sources: dict[str, SettingFile] = {}
    for each in setting_files.extended(file):
        found = _values(each)
        values |= found
        sources |= dict.fromkeys(found, each)
    shown_sources = tuple((name.replace("_", "-"), str(each.path)) for name, each in sources.items())
    settings = Settings(**values, root=root, sources=shown_sources)  # type: ignore[arg-type]
    wrong = next(wrong_names(settings), None)
    if wrong:
        raise ConfigError(f"{_where(settings, wrong.partition(':')[0])}{wrong}")
    return settings


def _where(settings: Settings, key: str) -> str:
    """The file that a key comes from, as the beginning of a message; "" if no file has it."""
    path = dict(settings.sources).get(key)
    return SettingFile(Path(path), {}).where if path else ""


def _values(file: SettingFile) -> dict[str, object]:
    """The values in a file, by the attributes of `Settings`."""
    import msgspec

    for key in file.table:
        if key not in KEYS:
            raise ConfigError(f"{file.path}: unknown key `{key}`{file.suffix}{did_you_mean(key, KEYS)}")
    written_out = {key: _WRITTEN_OUT[key](value) if key in _WRITTEN_OUT else value for key, value in file.table.items()}
    try:
        values = msgspec.structs.asdict(msgspec.convert(written_out, schema()))
    except msgspec.ValidationError as error:
        reason, _, place = str(error).replace("`object`", "`table`").partition(" - at `$.")
        raise ConfigError(f"{file.where}{place.rstrip('`')}: {reason}") from None
    values_in_file = {key: value for key, value in values.items() if key.replace("_", "-") in file.table}
    return values_in_file | {
        key: tuple(value.items()) for key, value in values_in_file.items() if isinstance(value, dict)
    }


def _dotted(value: Toml) -> Toml:
    """A table keyed by dotted names, which TOML reads as nested tables if they are not quoted."""
    return dict(_flattened(value)) if isinstance(value, dict) else value


def _flattened(table: Table) -> Iterator[tuple[str, Toml]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{rest}", each) for rest, each in _flattened(value))
        else:
            yield key, value


def _bases(value: Toml) -> Toml:
    """Turn a list of trainer bases into a table of plain trainers."""
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
    if isinstance(value, list) and len(names) == len(value):
        return dict.fromkeys(names, "transformers.Trainer")
    return _dotted(value)


# Keys that can be written in more than one form.
_WRITTEN_OUT = {"reducers": _dotted, "trainer-bases": _bases}


def wrong_names(settings: Settings) -> Iterator[str]:
    """Errors in the names and words of custom settings, one line each."""
    seen: dict[str, str] = {}
    for key in OWN_NAMES:
        shown_key = key.replace("_", "-")
        for name in names_in(getattr(settings, key)):
            if "." not in name or not all(part.isidentifier() for part in name.split(".")):
                yield f"{shown_key}: `{name}` is not a dotted name such as `mylib.dist.all_mean`"
            if seen.setdefault(name, shown_key) != shown_key:
                yield f"{shown_key}: `{name}` is in `{seen[name]}` already"
    yield from _wrong_engines(settings)
    yield from _wrong_reducers(settings)
    yield from _wrong_bases(settings)


def _wrong_engines(settings: Settings) -> Iterator[str]:
    for word in settings.engines:
        if word not in ENGINES:
            hint = did_you_mean(word, ENGINES) or f"; it can be {', '.join(f'`{each}`' for each in ENGINES)}"
            yield f"engines: `{word}` is not an engine{hint}"


def _wrong_reducers(settings: Settings) -> Iterator[str]:
    if not settings.reducers:
        return
    from trl_lint.knowledge.custom import REDUCERS

    for name, word in settings.reducers:
        if word not in REDUCERS:
            hint = did_you_mean(word, REDUCERS) or f"; it can be {', '.join(f'`{each}`' for each in REDUCERS)}"
            yield f"reducers: `{name}` can't be `{word}`{hint}"


def _wrong_bases(settings: Settings) -> Iterator[str]:
    if not settings.trainer_bases:
        return
    from trl_lint.knowledge.custom import trainer_classes
    from trl_lint.knowledge.library import canonical

    known = trainer_classes()
    for name, behaves in settings.trainer_bases:
        if canonical(behaves) not in known:
            hint = did_you_mean(behaves, known)
            yield f"trainer-bases: `{name}` can't behave like `{behaves}`, which is not a known trainer{hint}"


def schema() -> type:
    """The type of each key. Built on demand, because msgspec is only imported if there is a table."""
    from typing import Annotated, Literal

    import msgspec

    words = tuple[str, ...]
    meanings = dict[str, str]
    version = Annotated[str, msgspec.Meta(pattern=r"^\d+(\.\w+)*$")] | None
    kinds = {
        "extend": str | None,
        "select": words,
        "ignore": words,
        "extend_select": words,
        "preview": bool,
        "exclude": words,
        "extend_include": words,
        "target_trl": version,
        "target_transformers": version,
        "unsafe_fixes": bool,
        "output_format": Literal[OUTPUT_FORMATS] | None,
        "cache_dir": str | None,
        "baseline": str | None,
        "per_file_ignores": dict[str, words],
        "reducers": meanings,
        "guards": words,
        "sinks": words,
        "unwrappers": words,
        "trainer_bases": meanings,
        "engines": words,
        "launch_unknown_gpus": bool | None,
        "plugins": words,
    }
    defaults = Settings()
    columns = [(name, kind, getattr(defaults, name)) for name, kind in kinds.items()]
    return msgspec.defstruct("Table", columns, rename="kebab", frozen=True)


class Selection(NamedTuple):
    """Which findings the settings ask for. The longer selector wins; on a tie, `ignored` wins.

    A consequence is as long as a whole code, a severity one less. A preview rule is selected by its own code or name,
    or together with all others by `preview`.
    """

    wanted: tuple[str, ...]
    ignored: tuple[str, ...]
    preview: bool
    plugins: tuple[str, ...] = ()

    def wants(self, rule: AnyRule, consequence: Consequence, by_default: bool) -> bool:
        if rule.preview and not self.preview and not any(_names(each, rule) for each in self.wanted):
            return False
        kind = rule, consequence, by_default
        return _best_specificity(self.wanted, *kind) > _best_specificity(self.ignored, *kind)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards of the rules that may have wanted findings, sorted by code."""
        from trl_lint.rules.cards import cards

        return tuple(card for card in cards(self.plugins) if any(starmap(partial(self.wants, card), _kinds(card))))

    @property
    def rules(self) -> tuple[BaseRule, ...]:
        """The rules that may have wanted findings, sorted by code."""
        return tuple(card.rule() for card in self.cards)


def selection(settings: Settings) -> Selection:
    """The selection in the settings.

    Raises:
        ConfigError: a selector matches nothing.
    """
    from trl_lint.rules.cards import cards

    rules = cards(settings.plugins)
    by_file = tuple(selector for _, selectors in settings.per_file_ignores for selector in selectors)
    selectors_of = {key: getattr(settings, key.replace("-", "_")) for key in ("select", "extend-select", "ignore")}
    for key, selectors in (selectors_of | {"per-file-ignores": by_file}).items():
        for selector in selectors:
            if not any(_specificity(selector, rule, *kind) >= 0 for rule in rules for kind in _kinds(rule)):
                where = _where(settings, key)
                prefix = f"{where}{key}: " if where else ""
                hint = did_you_mean(selector, selector_words(settings.plugins))
                raise ConfigError(f"{prefix}unknown rule `{selector}`{hint}")
    wanted = settings.select + settings.extend_select
    return Selection(wanted, settings.ignore, settings.preview, settings.plugins)


def selected_rules(settings: Settings) -> tuple[BaseRule, ...]:
    """The rules that may have findings wanted by the settings, sorted by code.

    Raises:
        ConfigError: a selector matches nothing.
    """
    return selection(settings).rules


def ignored_in(settings: Settings, path: Path) -> Callable[[AnyRule, Consequence, bool], bool]:
    """Decides which findings `per-file-ignores` suppresses in a file."""
    root = settings.root or Path.cwd()
    selectors = [
        word for pattern, each in settings.per_file_ignores if _matches_file(pattern, path, root) for word in each
    ]
    return partial(_matches_any, selectors)


def _matches_any(selectors: Iterable[str], rule: AnyRule, consequence: Consequence, by_default: bool) -> bool:
    return _best_specificity(selectors, rule, consequence, by_default) >= 0


def _matches_file(pattern: str, path: Path, root: Path) -> bool:
    """Whether a pattern, as in ruff and flake8, matches a file: its path below `root`, or its name.

    `*` matches any characters, including `/`; `**/` matches any folders or none; `!` negates the pattern.
    """
    if pattern.startswith("!"):
        return not _matches_file(pattern[1:], path, root)
    import glob
    from fnmatch import fnmatchcase

    full = Path(os.path.abspath(path)).as_posix()
    wanted = os.path.join(glob.escape(Path(os.path.abspath(root)).as_posix()), os.path.normpath(pattern))
    wanted = wanted.replace(os.sep, "/")
    fits = ((full, wanted), (full, wanted.replace("/**/", "/")), (path.name, pattern))
    return any(fnmatchcase(name, each) for name, each in fits)


def rule_words(plugins: tuple[str, ...] = ()) -> list[str]:
    """Every code and every name."""
    from trl_lint.rules.cards import cards

    return [word for rule in cards(plugins) for word in (rule.code, rule.name)]


def selector_words(plugins: tuple[str, ...] = ()) -> list[str]:
    """All words that can be used as a selector."""
    return [*rule_words(plugins), *(each.value for each in (*Consequence, *Severity)), EVERY_RULE, DEFAULT_SET]


def _kinds(rule: AnyRule) -> Iterator[tuple[Consequence, bool]]:
    """The possible kinds of a rule's findings: their consequence, and whether they are in the default set."""
    return product(rule.consequences, (True, False))


def _best_specificity(selectors: Iterable[str], rule: AnyRule, consequence: Consequence, by_default: bool) -> int:
    return max((_specificity(selector, rule, consequence, by_default) for selector in selectors), default=-1)


def _specificity(selector: str, rule: AnyRule, consequence: Consequence, by_default: bool) -> int:
    """How specifically a selector matches a finding: the length of the code it spells, -1 for no match."""
    word = selector.strip().upper()
    if word == EVERY_RULE:
        return 0
    if word == DEFAULT_SET:
        return 0 if by_default else -1
    if word == consequence.value.upper() or _names(selector, rule):
        return len(rule.code)
    if word == consequence.severity.value.upper():
        return len(rule.code) - 1
    return len(word) if word and rule.code.startswith(word) else -1


def _names(selector: str, rule: AnyRule) -> bool:
    """Whether a selector is exactly the code or name of a rule."""
    return selector.strip().upper() in (rule.code, rule.name.upper())
