"""Which rules run, and how: `[tool.trl-lint]`, the command line laid over it, and what they select."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from itertools import product, starmap
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint import files, toml
from trl_lint.findings import Consequence
from trl_lint.settings import (
    DEFAULT_SET,
    ENGINES,
    EVERY_RULE,
    OUTPUT_FORMATS,
    OWN_NAMES,
    ConfigError,
    Settings,
    names_in,
)
from trl_lint.toml import Table, Toml

if TYPE_CHECKING:
    from trl_lint.rules.base import BaseRule


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
        if os.path.isfile(project):
            nearest = nearest or folder
            table = _table(project)
            if table is not None:
                return _settings(project, table, folder)
    return Settings(root=nearest)


def _table(path: Path) -> Table | None:
    """The `[tool.trl-lint]` table of a TOML file; None when it has none."""
    try:
        document = toml.parse(files.read(path).decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read: {error.strerror}") from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise ConfigError(f"{path}: cannot parse: {_one_line(error)}") from None
    except RecursionError:
        raise ConfigError(f"{path}: cannot parse: nested too deeply") from None
    tool = document.get("tool", {})
    table = tool.get("trl-lint") if isinstance(tool, dict) else None
    misspelled = next(_misspelled(document), None)
    if misspelled:
        raise ConfigError(f"{path}: [{misspelled}] is not read; did you mean `[tool.trl-lint]`?")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.trl-lint] must be a table")
    return table


def _misspelled(document: Table) -> Iterator[str]:
    """The tables of a TOML file that can only be meant for this tool, as their names stand in it."""
    tool = document.get("tool")
    tables = (("", document), ("tool.", tool if isinstance(tool, dict) else {}))
    for above, names in tables:
        for name in names:
            if above + name != "tool.trl-lint" and _is_nearly("trllint", name):
                quoted = name if all(char.isalnum() or char in "-_" for char in name) else f'"{name}"'
                yield above + quoted


def _is_nearly(word: str, name: str) -> bool:
    """Whether a name, whatever its case and its punctuation, is a word or a slip of one or two letters away."""
    plain = "".join(char for char in name.lower() if char.isalnum())
    if plain == word:
        return True
    # Most tables are far from it: only for those that are near is it worth an import.
    if abs(len(plain) - len(word)) > 2 or not plain.startswith(word[:2]):
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, plain, word).ratio() > 0.85


def _settings(path: Path, table: Table, root: Path) -> Settings:
    import msgspec

    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{path}: unknown key `{key}` in [tool.trl-lint]{did_you_mean(key, KEYS)}")
    written_out = {key: _WRITTEN_OUT[key](value) if key in _WRITTEN_OUT else value for key, value in table.items()}
    try:
        values = msgspec.structs.asdict(msgspec.convert(written_out, schema()))
    except msgspec.ValidationError as error:
        reason, _, place = str(error).replace("`object`", "`table`").partition(" - at `$.")
        raise ConfigError(f"{path}: [tool.trl-lint] {place.rstrip('`')}: {reason}") from None
    pairs = {key: tuple(value.items()) for key, value in values.items() if isinstance(value, dict)}
    settings = Settings(**values | pairs, root=root)
    wrong = next(wrong_names(settings), None)
    if wrong:
        raise ConfigError(f"{path}: [tool.trl-lint] {wrong}")
    return settings


def _dotted(value: Toml) -> Toml:
    """A table from dotted names, which TOML takes for tables in tables where they are not quoted."""
    return dict(_flattened(value)) if isinstance(value, dict) else value


def _flattened(table: Table) -> Iterator[tuple[str, Toml]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{rest}", each) for rest, each in _flattened(value))
        else:
            yield key, value


def _bases(value: Toml) -> Toml:
    """A list of trainer bases is a table of plain trainers."""
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
    if isinstance(value, list) and len(names) == len(value):
        return dict.fromkeys(names, "transformers.Trainer")
    return _dotted(value)


# Keys that may be written in more than one way.
_WRITTEN_OUT = {"reducers": _dotted, "trainer-bases": _bases}


def wrong_names(settings: Settings) -> Iterator[str]:
    """What is wrong about the words of the user's own, each in one line."""
    seen: dict[str, str] = {}
    for key in OWN_NAMES:
        shown = key.replace("_", "-")
        for name in names_in(getattr(settings, key)):
            if "." not in name or not all(part.isidentifier() for part in name.split(".")):
                yield f"{shown}: `{name}` is no dotted name such as `mylib.dist.all_mean`"
            if seen.setdefault(name, shown) != shown:
                yield f"{shown}: `{name}` is in `{seen[name]}` already"
    yield from _wrong_engines(settings)
    yield from _wrong_reducers(settings)
    yield from _wrong_bases(settings)


def _wrong_engines(settings: Settings) -> Iterator[str]:
    for word in settings.engines:
        if word not in ENGINES:
            hint = did_you_mean(word, ENGINES) or f"; known are {', '.join(f'`{each}`' for each in ENGINES)}"
            yield f"engines: `{word}` is no engine{hint}"


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
            yield f"trainer-bases: `{name}` can't behave like `{behaves}`, as that is no trainer of a library{hint}"


def schema() -> type:
    """What each key may hold. Built on demand, as msgspec is only worth importing when there is a table."""
    from typing import Annotated, Literal

    import msgspec

    words = tuple[str, ...]
    meanings = dict[str, str]
    version = Annotated[str, msgspec.Meta(pattern=r"^\d+(\.\w+)*$")] | None
    kinds = {
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
        "per_file_ignores": dict[str, words],
        "reducers": meanings,
        "guards": words,
        "sinks": words,
        "unwrappers": words,
        "trainer_bases": meanings,
        "engines": words,
        "launch_unknown_gpus": bool | None,
    }
    defaults = Settings()
    columns = [(name, kind, getattr(defaults, name)) for name, kind in kinds.items()]
    return msgspec.defstruct("Table", columns, rename="kebab", frozen=True)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which findings the settings ask for. The longer selector wins; in a draw, `ignored` does.

    A consequence is as long as a whole code. A preview rule is asked for by its own code or name, or with all others by
    `preview`.
    """

    wanted: tuple[str, ...]
    ignored: tuple[str, ...]
    preview: bool

    def wants(self, rule: BaseRule, consequence: Consequence, by_default: bool) -> bool:
        if rule.preview and not self.preview and not any(_names(each, rule) for each in self.wanted):
            return False
        kind = rule, consequence, by_default
        return _best(self.wanted, *kind) > _best(self.ignored, *kind)

    @property
    def rules(self) -> tuple[BaseRule, ...]:
        """The rules that may have such findings, sorted by code."""
        from trl_lint.rules import all_rules

        return tuple(rule for rule in all_rules() if any(starmap(partial(self.wants, rule), _kinds(rule))))


def selection(settings: Settings) -> Selection:
    """What the settings ask for.

    Raises:
        ConfigError: a selector that fits nothing.
    """
    from trl_lint.rules import all_rules

    rules = all_rules()
    wanted = settings.select + settings.extend_select
    by_file = tuple(selector for _, selectors in settings.per_file_ignores for selector in selectors)
    for selector in wanted + settings.ignore + by_file:
        if not any(_fit(selector, rule, *kind) >= 0 for rule in rules for kind in _kinds(rule)):
            raise ConfigError(f"unknown rule `{selector}`{did_you_mean(selector, selector_words())}")
    return Selection(wanted, settings.ignore, settings.preview)


def selected_rules(settings: Settings) -> tuple[BaseRule, ...]:
    """The rules that may have findings that the settings ask for, sorted by code.

    Raises:
        ConfigError: a selector that fits nothing.
    """
    return selection(settings).rules


def ignored_rules(settings: Settings, path: Path, rules: Iterable[BaseRule]) -> frozenset[BaseRule]:
    """Of some rules, those that `per-file-ignores` keeps from reporting anything in a file."""
    ignores = ignored_in(settings, path)
    return frozenset(rule for rule in rules if all(ignores(rule, *kind) for kind in _kinds(rule)))


def ignored_in(settings: Settings, path: Path) -> Callable[[BaseRule, Consequence, bool], bool]:
    """Which findings `per-file-ignores` keeps from being reported in a file."""
    root = settings.root or Path.cwd()
    selectors = [
        word for pattern, each in settings.per_file_ignores if _speaks_of(pattern, path, root) for word in each
    ]
    return partial(_fits_any, selectors)


def _fits_any(selectors: Iterable[str], rule: BaseRule, consequence: Consequence, by_default: bool) -> bool:
    return _best(selectors, rule, consequence, by_default) >= 0


def _speaks_of(pattern: str, path: Path, root: Path) -> bool:
    """Whether a pattern, as ruff and flake8 read it, fits a file: its path below `root`, or its own name.

    `*` stands for any characters, `/` among them, and `**/` for any folders or none; `!` turns the answer round.
    """
    if pattern.startswith("!"):
        return not _speaks_of(pattern[1:], path, root)
    import glob
    from fnmatch import fnmatchcase

    full = Path(os.path.abspath(path)).as_posix()
    wanted = os.path.join(glob.escape(Path(os.path.abspath(root)).as_posix()), os.path.normpath(pattern))
    wanted = wanted.replace(os.sep, "/")
    fits = ((full, wanted), (full, wanted.replace("/**/", "/")), (path.name, pattern))
    return any(fnmatchcase(name, each) for name, each in fits)


def rule_words() -> list[str]:
    """Every code and every name."""
    from trl_lint.rules import all_rules

    return [word for rule in all_rules() for word in (rule.code, rule.name)]


def selector_words() -> list[str]:
    """The words that a user may mean who selects something."""
    return [*rule_words(), *(each.value for each in Consequence), EVERY_RULE, DEFAULT_SET]


def _kinds(rule: BaseRule) -> Iterator[tuple[Consequence, bool]]:
    """What findings of a rule there may be: their consequence, and whether they are in the default set."""
    return product(rule.consequences, (True, False))


def _best(selectors: Iterable[str], rule: BaseRule, consequence: Consequence, by_default: bool) -> int:
    return max((_fit(selector, rule, consequence, by_default) for selector in selectors), default=-1)


def _fit(selector: str, rule: BaseRule, consequence: Consequence, by_default: bool) -> int:
    """How closely a selector names a finding: the length of the code it spells out, -1 for not at all."""
    word = selector.strip().upper()
    if word == EVERY_RULE:
        return 0
    if word == DEFAULT_SET:
        return 0 if by_default else -1
    if word == consequence.value.upper() or _names(selector, rule):
        return len(rule.code)
    return len(word) if word and rule.code.startswith(word) else -1


def _names(selector: str, rule: BaseRule) -> bool:
    """Whether a selector is the very code or name of a rule."""
    return selector.strip().upper() in (rule.code, rule.name.upper())


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
