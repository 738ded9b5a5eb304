"""Shell completion for `trl-lint`: codes and names of rules, each with a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_rules(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes and names with this prefix."""
    from click.shell_completion import CompletionItem

    from trl_lint.rules import all_rules

    summaries = {word: rule.summary for rule in all_rules() for word in (rule.code, rule.name)}
    return [CompletionItem(word, help=text) for word, text in summaries.items() if _begins(word, incomplete)]


def complete_selectors(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The words that may follow `--select`; several are separated by commas."""
    from click.shell_completion import CompletionItem

    from trl_lint.config import selector_words
    from trl_lint.rules import all_rules

    summaries = {word: rule.summary for rule in all_rules() for word in (rule.code, rule.name)}
    before, comma, last = incomplete.rpartition(",")
    found = (word for word in selector_words() if _begins(word, last))
    return [CompletionItem(f"{before}{comma}{word}", help=summaries.get(word)) for word in found]


def file_names(incomplete: str) -> list[CompletionItem]:
    """Let the shell complete file names."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _begins(word: str, beginning: str) -> bool:
    return word.lower().startswith(beginning.lower())
