"""Comprehensions that make one value for each of several names: each turn is one place.

For example:

    losses, scores = [Meter() for _ in range(2)]       2
    losses, scores = (Meter() for _ in range(count))   2: with any other number the assignment fails
    meters = [Meter() for _ in range(2)]               0: nothing tells the elements apart
    first, *rest = [Meter() for _ in range(2)]         0
    first, second = [Meter() for _ in rows]            0: each turn has a row of its own
"""

from __future__ import annotations

import libcst as cst


def turns(statement: cst.CSTNode | None) -> int:
    """The number of turns of a comprehension over a range that a statement unpacks; 0 for other statements."""
    match statement:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Tuple(elements=names) | cst.List(elements=names))],
            value=cst.ListComp(for_in=loop) | cst.GeneratorExp(for_in=loop),
        ) if _is_of_numbers(loop) and not any(isinstance(each, cst.StarredElement) for each in names):
            return len(names)
    return 0


def _is_of_numbers(loop: cst.CompFor) -> bool:
    match loop:
        case cst.CompFor(iter=cst.Call(func=cst.Name("range"), args=[cst.Arg()]), ifs=[], inner_for_in=None):
            return True
    return False
