"""A comment silences nothing, or names no rule.

## What it does
Checks comments that silence findings (`# noqa`, `# flake8: noqa`, `# trl-lint: ignore[…]`), and reports codes and
names of trl-lint's rules that silence nothing, are misspelt or unknown. Codes of other tools, and comments without any
code, are ignored.

## Why is this bad?
The comment outlives the bug that it was written for, and hides the next one on its line. A misspelt name silences
nothing or, under flake8, everything.

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
Removing what silences nothing is *safe*: codes of other tools and the reason after the codes stay. Replacing a
misspelt name with the intended rule is *unsafe*, because it silences a finding that is reported now. An unknown code
that resembles no rule is left to you.

## Limits
Unused codes are reported for rules that are selected, in a run on the whole project (the folder of the settings, or
the nearest with a `pyproject.toml` or a repository). A run on single files cannot tell, because a finding may only
show together with other files. Findings outside the default set, and those reported together with another of the same
cause, count as silenced. Other files are checked if their comments start with `#`; notebooks and documents with code
are not. A comment after the prose of another comment is part of that. Nothing is reported under flake8, which decides
itself which comments count.
"""

from __future__ import annotations

from trl_lint.findings import Consequence
from trl_lint.rules.base import CommentRule


class UnusedNoqa(CommentRule):
    code = "TRL900"
    name = "unused-noqa"
    consequences = (Consequence.STALE,)
