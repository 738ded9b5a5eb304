"""A value is broadcast from another rank than the first.

## What it does

Reports `accelerate.utils.broadcast` with a `from_process` other than 0: with us the first rank has what counts.

## Example

```python
loss = broadcast(loss, from_process=1)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.findings import Consequence
from trl_lint.knowledge.mentions import named
from trl_lint.rules.base import Rule, Violation


class OddRoot(Rule[CollectiveCalled]):
    code = "TRL801"
    name = "odd-root"
    consequences = (Consequence.WRONG_NUMBER,)
    mentions = (named(["from_process"]),)

    def check(self, event: CollectiveCalled) -> Iterator[Violation]:
        if event.row.name == "accelerate.utils.broadcast" and len(event.node.args) > 1:
            yield Violation(event=event, message="it comes from another rank than the first")
