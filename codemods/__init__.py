"""One LibCST command per fixable rule, made from the registry: `TruncatedGatherCommand` makes TRL014's safe fixes.

It is run as `python -m libcst.tool codemod -x trl_lint.codemods.TruncatedGatherCommand PATH`. A command has the linter
apply the safe fixes of its rule, and finds nothing itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import libcst as cst
from libcst.codemod import VisitorBasedCodemodCommand

from trl_lint.rules import all_rules
from trl_lint.rules.base import BaseRule, Rule


class FindingCommand(VisitorBasedCodemodCommand):
    """A command that makes the safe fixes of one rule."""

    CODE: ClassVar[str]

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        from trl_lint.linter.rewriting.fixing import with_safe_fixes

        path = Path(self.context.filename or "<string>")
        source = with_safe_fixes(path, tree.bytes, self.CODE)
        return tree if source == tree.bytes else cst.parse_module(source)


def command_name(rule: BaseRule) -> str:
    """What the command of a rule is called in this module."""
    return f"{type(rule).__name__}Command"


def _command(rule: BaseRule) -> type[FindingCommand]:
    about = f"Make the safe fixes of {rule.name} ({rule.code}): {rule.summary}."
    # Each is looked up by its name again, in the processes that LibCST starts.
    return type(
        command_name(rule),
        (FindingCommand,),
        {"__module__": __name__, "__doc__": about, "CODE": rule.code, "DESCRIPTION": about},
    )


COMMANDS = tuple(_command(rule) for rule in all_rules() if rule.has_fix and isinstance(rule, Rule))
globals().update({command.__name__: command for command in COMMANDS})

__all__ = ["COMMANDS", "FindingCommand", "command_name", *(command.__name__ for command in COMMANDS)]
