"""What code under a condition on the rank sets anew, so that the other ranks go on with what they had.

if accelerator.is_main_process:
    print(torch.stack(losses).mean())
    losses = []                          they keep all losses so far: a gathered mean would be one of these, too
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, children
from trl_lint.fixes.support.node_types import Scope
from trl_lint.fixes.support.scope import bound_targets, dotted, works_in_place

# The method that empties a list or a dict.
_EMPTIES = "clear"


def sets_anew(root: Scope, guard: cst.CSTNode, lines: Iterable[cst.CSTNode], read: Iterable[cst.CSTNode]) -> bool:
    """Whether lines under a guard assign or empty what expressions read, and a later turn reads it again.

    That may be an attribute, or a name in a loop.
    """
    begins_again = any(isinstance(each, (cst.For, cst.While)) for each in ancestors(root, guard))
    reads = {text for each in read for text in reads_of(each)} - {"self"}
    changed = (text for line in lines for text in _changed(line) if begins_again or "." in text)
    return any(overlap(one, other) for one in changed for other in reads)


def _changed(line: cst.CSTNode) -> Iterator[str]:
    """The names and attributes that a line assigns, or changes in place."""
    changed = [part.value if isinstance(part, cst.Subscript) else part for part in bound_targets(line)]
    for call in below(line):
        match call:
            case cst.Call(func=cst.Attribute(value=held, attr=cst.Name(value=name))):
                changed += [held] if name == _EMPTIES or works_in_place(call) else []
    return filter(None, map(dotted, changed))


def reads_of(node: cst.CSTNode) -> Iterator[str]:
    """The `a.b.c` below a node, each as long as possible."""
    if text := dotted(node):
        yield text
    else:
        for child in [node.value] if isinstance(node, cst.Arg) else children(node):
            yield from reads_of(child)


def overlap(one: str, other: str) -> bool:
    """Whether one of `a.b` and `a.b.c` is equal to, or part of, the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
