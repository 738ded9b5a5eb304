"""Process groups that each of their members makes: none of the other ranks waits for them, since torch 2.1.

    for ranks in (range(0, 4), range(4, 8)):
        group = new_group(ranks)
        if rank in ranks:
            break                           the groups that these ranks do not make are without them
    if rank in ranks: new_group(ranks)      the only group: the other ranks have no part in it

All ranks have to make all groups nevertheless: the groups are named by how many each rank has made before.

    for ranks in (range(0, 4), range(4, 8)):
        if rank in ranks: new_group(ranks)  both get the same name

Source: torch 2.1.0, torch/distributed/distributed_c10d.py `_new_group_with_tag` (no barrier after it, unless
`TORCH_DIST_INIT_BARRIER` asks for one) and `_process_group_name`
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import LOOPS, innermost, last_name, of_class, precedes

MAKES_GROUP = "new_group"


def has_all_members(root: cst.CSTNode, call: cst.CSTNode, test: cst.CSTNode, exit_: cst.CSTNode | None) -> bool:
    """Whether all ranks of each group make it, though only some ranks make this call where a test of the rank decides.

    exit_: the statement by which the others leave before the call; None if the test decides on the call itself.
    """
    if not isinstance(call, cst.Call) or last_name(call.func) != MAKES_GROUP:
        return False
    if sum(last_name(each.func) == MAKES_GROUP for each in of_class(root, cst.Call)) != 1:
        return False
    loop = innermost(root, call, *LOOPS)
    if loop is None:
        return _asks_for_member(test, call, cst.In if exit_ is None else cst.NotIn)
    # Whoever leaves the loop has made the group of this turn, and is in none of those that follow.
    is_after_call = exit_ is not None and innermost(root, exit_, *LOOPS) is loop and precedes(root, call, exit_)
    return is_after_call and not isinstance(exit_, cst.Continue) and _asks_for_member(test, call, cst.In)


def _asks_for_member(test: cst.CSTNode, call: cst.Call, operator: type[cst.BaseCompOp]) -> bool:
    """Whether a test asks if the rank is among those of the group (`In`), or if it is not (`NotIn`)."""
    members = next((each.value for each in call.args if each.keyword is None or each.keyword.value == "ranks"), None)
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=asked, comparator=ranks)]) if members:
            return isinstance(asked, operator) and ranks.deep_equals(members)
    return False
