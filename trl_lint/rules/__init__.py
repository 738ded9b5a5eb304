"""The rules, found by walking this package: one module per rule, named after the bug it finds.

They are imported when they are asked for; what is known of them before is on their cards (`cards.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trl_lint.settings import ConfigError

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.rules.base import BaseRule, Rule

    # A rule about events of any kind.
    CodeRule = Rule[Any]

# The modules that define no rule.
_OTHERS = frozenset({"base", "cards"})


# The rules of plugins loaded in this process.
_of_plugins: dict[str, tuple[BaseRule, ...]] = {}


@cache
def all_rules(plugins: tuple[str, ...] = ()) -> tuple[BaseRule, ...]:
    """Every rule, including those of plugins, sorted by code.

    Importing them does not import LibCST: rules only depend on events.

    Raises:
        ConfigError: a plugin that can't be used.
    """
    rules = list(_own_rules())
    for plugin in plugins:
        rules += _rules_of(plugin)
        _refuse_clash(plugin, rules)
    return tuple(sorted(rules, key=lambda rule: rule.code))


def loaded_rules() -> tuple[BaseRule, ...]:
    """Our rules, and those of plugins that any project has used so far: the words that a comment may contain."""
    return (*_own_rules(), *(rule for rules in _of_plugins.values() for rule in rules))


@cache
def _own_rules() -> tuple[BaseRule, ...]:
    import pkgutil

    names = (module.name for module in pkgutil.iter_modules(__path__) if module.name not in _OTHERS)
    return tuple(rule_in(f"{__name__}.{name}") for name in names)


def _rules_of(plugin: str) -> tuple[BaseRule, ...]:
    from trl_lint.plugins import modules_in

    if plugin not in _of_plugins:
        found = []
        for module in modules_in(plugin, "rules"):
            try:
                found.append(rule_in(module.__name__))
            except ValueError:
                raise ConfigError(f"plugins: `{plugin}`: `{module.__name__}` does not define one rule") from None
        _of_plugins[plugin] = tuple(found)
    return _of_plugins[plugin]


def _refuse_clash(plugin: str, rules: Iterable[BaseRule]) -> None:
    """Check that each code and each name belongs to one rule."""
    taken = set()
    for rule in rules:
        for word in (rule.code, rule.name):
            if word in taken:
                raise ConfigError(f"plugins: `{plugin}`: there is another rule called `{word}`")
            taken.add(word)


@cache
def rule_in(module: str) -> BaseRule:
    """The one rule that a module, given by its full name, defines."""
    from trl_lint.rules.base import BaseRule

    kinds = (each for each in vars(import_module(module)).values() if isinstance(each, type))
    (found,) = (each for each in kinds if issubclass(each, BaseRule) and each.__module__ == module)
    return found()


@lru_cache(32)
def code_rules(rules: tuple[BaseRule, ...]) -> tuple[CodeRule, ...]:
    """Those of these rules that check events."""
    from trl_lint.rules.base import Rule

    return tuple(rule for rule in rules if isinstance(rule, Rule))


def by_event(rules: Iterable[BaseRule]) -> Mapping[type[Event], tuple[CodeRule, ...]]:
    """The rules by the events that they check."""
    return _by_event(code_rules(tuple(rules)))


@lru_cache(32)
def _by_event(rules: tuple[CodeRule, ...]) -> Mapping[type[Event], tuple[CodeRule, ...]]:
    found: dict[type[Event], tuple[CodeRule, ...]] = {}
    for rule in rules:
        for event in rule.events:
            found[event] = (*found.get(event, ()), rule)
    return found


def find_rule(code_or_name: str, plugins: tuple[str, ...] = ()) -> BaseRule | None:
    """The rule with this code or name, in any case, of ours or of a plugin in use; None if there is none."""
    wanted = code_or_name.lower()
    known = dict.fromkeys((*all_rules(plugins), *loaded_rules()))
    return next((rule for rule in known if wanted in (rule.code.lower(), rule.name)), None)
