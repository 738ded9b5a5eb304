"""`trl-lint rule CODE` and `trl-lint rules`: the documentation of the rules."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trl_lint import plain
from trl_lint.frontends.completion import complete_rules
from trl_lint.frontends.terminal import fail, wants_colour

if TYPE_CHECKING:
    from trl_lint.plain import Json
    from trl_lint.rules.base import BaseRule

_format_option = click.option(
    "--output-format", type=click.Choice(("text", "json")), default="text", help="Output format."
)


@click.command()
@click.argument("rule", metavar="CODE|NAME", shell_complete=complete_rules)
@_format_option
def rule(rule: str, output_format: str) -> None:
    """Print the documentation of a rule."""
    from trl_lint.config import did_you_mean, rule_words
    from trl_lint.rules import find_rule

    plugins = _plugins()
    found = find_rule(rule, plugins)
    if found is None:
        fail(f"unknown rule `{rule}`{did_you_mean(rule, rule_words(plugins))}")
    if output_format == "json":
        _show_json(_row(found))
    elif wants_colour(sys.stdout):
        _show_markdown(found.page)
    else:
        click.echo(found.page)


@click.command(short_help="List all rules.")
@_format_option
def rules(output_format: str) -> None:
    """List all rules: code, name, whether there is a fix, and what it is about.

    This includes rules of plugins that the project in the current folder uses.
    """
    from trl_lint.rules import all_rules

    known = all_rules(_plugins())
    if output_format == "json":
        _show_json([_row(each) for each in known])
        return
    width = max(len(rule.name) for rule in known)
    colour = wants_colour(sys.stdout)
    for each in known:
        code = click.style(each.code, fg="red", bold=True) if colour else each.code
        has = "fix" if each.has_fix else "-"
        about = f"{'preview: ' * each.preview}{each.summary}"
        click.echo(f"{code}  {each.name:<{width}}  {has:<3}  {about}", color=colour)


def _plugins() -> tuple[str, ...]:
    """The plugins of the project in the current folder."""
    from trl_lint.config import load_settings

    return load_settings(Path.cwd()).plugins


def _row(rule: BaseRule) -> Json:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "fix": rule.has_fix,
        "preview": rule.preview,
        "consequences": [each.value for each in rule.consequences],
        "documentation": rule.documentation,
    }


def _show_json(content: Json) -> None:
    json.dump(plain.in_json(content), sys.stdout, indent=2)
    click.echo()


def _show_markdown(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console(file=sys.stdout, force_terminal=True, color_system="standard", no_color=False).print(Markdown(text))
