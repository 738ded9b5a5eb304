"""The cards of the rules, stored with the results: a run whose results are all stored imports no rule."""

from __future__ import annotations

from trl_lint import rules
from trl_lint.findings import Consequence
from trl_lint.linter.store.cache import Cache
from trl_lint.linter.store.tool import key_of, tools_key
from trl_lint.rules import cards
from trl_lint.rules.cards import Card


def take_stored(cache: Cache, plugins: tuple[str, ...]) -> None:
    """Use the cards that an earlier run with the same rules has stored, if there are any.

    Raises:
        ConfigError: a plugin that can't be used.
    """
    stored = read(cache.load(_name(plugins)))
    if stored:
        cards.take(plugins, stored)


def store(cache: Cache, plugins: tuple[str, ...]) -> None:
    """Store the cards, unless they are stored already."""
    if not read(cache.load(_name(plugins))):
        cache.save(_name(plugins), cards.cards(plugins))


def _name(plugins: tuple[str, ...]) -> str:
    return f"rules-{key_of(tools_key(plugins), plugins, list(rules.__path__))}"


def read(rows: object) -> tuple[Card, ...]:
    """The cards as they are stored; none if the data is foreign."""
    try:
        return tuple(_card(*row) for row in rows) if isinstance(rows, list) else ()
    except (TypeError, ValueError):
        return ()


def _card(module: str, code: str, name: str, consequences: list[str], preview: bool, about: str) -> Card:
    return Card(module, code, name, tuple(map(Consequence, consequences)), preview, about)
