"""Where parameters that a call gathers are whole.

    with GatheredParameters(weights):       whole in the block
        save(model)
    save(model)                             in parts again
    norm(model)                             a helper whose own block is over

A block under a condition shows that the code has a way for each engine, so the calls outside it are of another one.
"""

from __future__ import annotations

from itertools import pairwise

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, last_name
from trl_lint.domain.sync_points import SyncPoint

_OPENS = frozenset({"enter_context", "enter_async_context"})


def may_be_whole(root: cst.CSTNode, gathers: SyncPoint, node: cst.CSTNode) -> bool:
    """Whether parameters that a call gathers, itself or in a helper, may be whole at a node, or this is another way."""
    around, around_node = ancestors(root, gathers.node), {id(each) for each in ancestors(root, node)}
    if any(isinstance(each, cst.If) and id(arm) not in around_node for each, arm in pairwise(around)):
        return True
    item = next((at for at, each in enumerate(around) if isinstance(each, cst.WithItem)), None)
    if item is not None:
        block = around[item - 1]
        return isinstance(block, cst.With) and id(block.body) in around_node
    return gathers.via is None or any(isinstance(each, cst.Call) and last_name(each.func) in _OPENS for each in around)
