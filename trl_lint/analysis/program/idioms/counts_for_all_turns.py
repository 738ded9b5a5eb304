"""Numbers that each turn of a loop finds anew, and that code after the loop takes to be those of all its turns.

for images, classes in loader:
    count = torch.nonzero(classes + 1).shape[0]
    scores.append(score(images, count))
for place in range(count):                    whoever wrote it has found the same number in each turn
    means.append(mean(score[place] for score in scores))
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, innermost, last_name, of_class, precedes, used_names
from trl_lint.analysis.program.tree_caches import tree_cache


def is_for_all_turns(root: cst.CSTNode, number: cst.CSTNode) -> bool:
    """Whether an expression of a function (or module) is such a number."""
    return id(number) in _for_all_turns(root)


@tree_cache(256)
def _for_all_turns(root: cst.CSTNode) -> frozenset[int]:
    """The ids of all such expressions: each is the only value of a name that bounds another loop behind its own."""
    found = set()
    loops: tuple[cst.For | cst.CompFor, ...] = (*of_class(root, cst.For), *of_class(root, cst.CompFor))
    for later in loops:
        if not isinstance(later.iter, cst.Call) or last_name(later.iter.func) != "range":
            continue
        for name in {each for arg in later.iter.args for each in used_names(arg.value)}:
            number = assigned_once(root, name)
            loop = None if number is None else innermost(root, number, cst.For)
            if loop is not None and precedes(root, loop, later):
                found.add(id(number))
    return frozenset(found)
