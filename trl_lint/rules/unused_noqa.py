"""A comment is to silence what is not found, or names no rule.

## What it does
Reports, of comments that silence findings (`# noqa`, `# flake8: noqa`, `# trl-lint: ignore[…]`), the codes and names
of our rules that silence nothing, and those that are misspelt or unknown. Codes of other tools, and comments that name
nothing and so silence everything, are left alone.

## Why is this bad?
The comment outlives the bug that it was written for, and hides the next one on its line. A misspelt name silences
nothing, or under flake8 everything.

## Example
```python
self.log({"steps": self.state.global_step})  # noqa: TRL003, E501
self.log({"shard/loss": loss.item()})  # noqa: unreduced-metrics
```

## Use instead
```python
self.log({"steps": self.state.global_step})  # noqa: E501
self.log({"shard/loss": loss.item()})  # noqa: unreduced-metric
```

## Fix safety
To take away what silences nothing is *safe*: codes of others and the reason behind the codes stay. To write the rule
that is meant in the place of a misspelt one is *unsafe*, as it silences what was reported until then. An unknown code
that resembles none is left to you.

## Limits
That a comment silences nothing is said of rules that this run looks for, where a folder is named that holds the whole
project (that of the settings, else the nearest with a `pyproject.toml` or a repository): of a file or a folder alone it
can't be told, as what is wrong in it may only show together with another one. A finding that is not in the default set,
and one that is told together with another of the same cause, counts as silenced. Of files that are not Python, those
are looked at in which a comment begins with `#`; notebooks and documents with code in them are not. A comment behind
the prose of another one is taken for a part of it. Under flake8 nothing is reported, as flake8 itself decides which
comments count.
"""

from __future__ import annotations

from trl_lint.findings import Consequence
from trl_lint.rules.base import CommentRule


class UnusedNoqa(CommentRule):
    code = "TRL900"
    name = "unused-noqa"
    consequences = (Consequence.STALE,)
