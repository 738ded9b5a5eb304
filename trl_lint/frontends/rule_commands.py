"""`trl-lint rule CODE` and `trl-lint rules`: what there is to read about the rules."""

from __future__ import annotations

import click

from trl_lint.frontends.completion import complete_rules
from trl_lint.frontends.terminal import fail


@click.command()
@click.argument("rule", metavar="CODE|NAME", shell_complete=complete_rules)
def rule(rule: str) -> None:
    """Print the documentation of a rule."""
    from trl_lint.config import did_you_mean, rule_words
    from trl_lint.rules import find_rule

    found = find_rule(rule)
    if found is None:
        fail(f"unknown rule `{rule}`{did_you_mean(rule, rule_words())}")
    click.echo(found.page)


@click.command(short_help="List all rules.")
def rules() -> None:
    """List all rules: code, name, whether there is a fix, and what it is about."""
    from trl_lint.rules import all_rules

    width = max(len(rule.name) for rule in all_rules())
    for rule in all_rules():
        has = "fix" if rule.has_fix else "-"
        click.echo(f"{rule.code}  {rule.name:<{width}}  {has:<3}  {'preview: ' * rule.preview}{rule.summary}")
