"""What has to be known of a rule to tell whether it is selected, and what a comment means, without importing it.

A rule imports the events that it checks, and these the knowledge about libraries. A run whose results are all stored
needs none of that. So the cards are derived from the rules, stored with the results (`linter/store/rule_cards.py`), and
taken from there until a rule is imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from trl_lint.findings import Consequence

if TYPE_CHECKING:
    from trl_lint.rules.base import BaseRule

# What a rule checks: events of the analysis, launch commands, or the comments that silence findings.
CODE, LAUNCHES, COMMENTS = "code", "launches", "comments"

# Cards that an earlier process has derived from the same code, by the plugins in use.
_stored: dict[tuple[str, ...], tuple[Card, ...]] = {}


class Card(NamedTuple):
    """The facts of a rule (see `BaseRule`) that its module need not be imported for. module: its full name."""

    module: str
    code: str
    name: str
    consequences: tuple[Consequence, ...]
    preview: bool
    about: str

    def rule(self) -> BaseRule:
        """The rule itself, imported only now."""
        from trl_lint.rules import rule_in

        return rule_in(self.module)


def cards(plugins: tuple[str, ...] = ()) -> tuple[Card, ...]:
    """The card of every rule, including those of plugins, sorted by code.

    Raises:
        ConfigError: a plugin that can't be used.
    """
    if plugins in _stored and not _are_imported():
        return _stored[plugins]
    from trl_lint.rules import all_rules

    return tuple(rule.card for rule in all_rules(plugins))


def known_cards() -> tuple[Card, ...]:
    """Those of our rules, and of the plugins that any project has used so far: the words that a comment may contain."""
    if _stored and not _are_imported():
        return tuple(dict.fromkeys(card for each in _stored.values() for card in each))
    from trl_lint.rules import loaded_rules

    return tuple(rule.card for rule in loaded_rules())


def take(plugins: tuple[str, ...], stored: tuple[Card, ...]) -> None:
    """Use stored cards as long as no rule is imported."""
    _stored[plugins] = stored


def _are_imported() -> bool:
    return "trl_lint.rules.base" in sys.modules
