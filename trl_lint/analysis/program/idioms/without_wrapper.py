"""Places that are reached only where there is no wrapper around a model, as a test of the wrapper's name says.

ddp = DDP(model) if args.several else None
loss = model(batch) if ddp is None else ddp(batch)       the first is without a wrapper
if ddp:
    ddp(batch)
else:
    model(batch)                                         so is this
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from trl_lint.analysis.program.idioms.literal_tests import outcome, tests_around
from trl_lint.analysis.program.syntax import assignments, below, self_attribute


def is_without_wrapper(
    root: cst.CSTNode, node: cst.CSTNode, wraps: Collection[cst.CSTNode], cls: cst.ClassDef | None = None
) -> bool:
    """Whether a place is reached only where the name is None that a function (or module) gives to what these create.

    cls: the class around it, which may do so in another method, for an attribute of `self`.
    """
    tests = list(tests_around(root, node))
    created = {id(each) for each in wraps}
    names = _names_of(root, created) if tests else set()
    if tests and cls is not None:
        names |= {name for name in _names_of(cls, created) if name.startswith("self.")}
    return any(
        outcome(test, {name: None}) is holds and outcome(test, {name: True}) is not holds
        for test, holds in tests
        for name in names
    )


def _names_of(root: cst.CSTNode, wraps: Collection[int]) -> set[str]:
    found = set()
    for target, value in assignments(root):
        if any(isinstance(part, cst.Call) and id(part) in wraps for part in below(value)):
            found.add(target.value if isinstance(target, cst.Name) else f"self.{self_attribute(target)}")
    return found
