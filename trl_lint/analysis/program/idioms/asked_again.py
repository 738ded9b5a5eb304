"""Conditions that a function asks again, in the same words and about the same names.

For example, `names_read_where_asked_again` of the first `if` is {"loss", "log", …}:

    if step % 10 == 0:
        loss = reduce(loss)
    if rank == 0 and step % 10 == 0:
        log(loss)
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import assignments, names_in, of_class, precedes


def names_read_where_asked_again(
    root: cst.CSTNode, node: cst.If, parts: Sequence[cst.BaseExpression]
) -> frozenset[str]:
    """The names in the bodies of later `if`s that hold only where these parts of the test of `node` do.

    root: the function around both. Nothing that the parts name is assigned in between.
    """
    found = frozenset[str]()
    if not parts:
        return found
    for later in of_class(root, cst.If):
        if later is node or not precedes(root, node, later):
            continue
        others = parts_of(later.test)
        if all(any(part.deep_equals(each) for each in others) for part in parts) and not _change(
            root, node, later, parts
        ):
            found |= names_in(later.body)
    return found


def _change(root: cst.CSTNode, node: cst.If, later: cst.If, parts: Sequence[cst.BaseExpression]) -> bool:
    """Whether a name of the parts is assigned between two `if`s."""
    asked = frozenset[str]().union(*map(names_in, parts))
    given = [target for target, _ in assignments(root)] + [each.target for each in of_class(root, cst.AugAssign)]
    return any(
        not asked.isdisjoint(names_in(each)) and precedes(root, node, each) and precedes(root, each, later)
        for each in given
    )
