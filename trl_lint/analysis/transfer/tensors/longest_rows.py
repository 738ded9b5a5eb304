"""How long the longest of this rank's own rows is, to which code pads them by hand.

longest = max(len(row) for row in rows)          one dimension that differs between ranks, where the rows are their own
longest = max(map(len, rows))                    the same
max(longest, 512), min(longest, limit)           not known: both may be the same on all ranks
max(len(x) for x in (ids, masks))                not known: tensors of a batch have as many samples on all ranks
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors.tensor_sizes import is_rank_local, shaped
from trl_lint.domain.shapes import RAGGED, Shape
from trl_lint.domain.values import Value
from trl_lint.knowledge import heuristics

LONGEST_REASON = "it is as long as the longest of this rank's rows"
_EXTREMES = frozenset({"max", "min"})
_VALUES = frozenset({"items", "values"})


def longest(frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
    """The result of a builtin: with the shape of a size, if it is that of this rank's longest row, or of its shortest.

    Only of rows whose lengths are asked for one by one: code that does so has rows of several lengths.
    """
    if name not in _EXTREMES or len(args.all()) != 1 or not is_rank_local(value) or not _asks_each(node):
        return value
    return value if frame.module.shows(heuristics.FIXED_LENGTHS) else shaped(value, Shape((RAGGED,), LONGEST_REASON))


def _asks_each(node: cst.CSTNode) -> bool:
    match node:
        case cst.Call(args=[cst.Arg(value=(cst.GeneratorExp() | cst.ListComp()) as each), *_]):
            length = each.elt
            return isinstance(length, cst.Call) and _is_len(length.func) and not _are_columns(each.for_in.iter)
        case cst.Call(args=[cst.Arg(value=cst.Call(func=cst.Name("map"), args=[length, rows])), *_]):
            return _is_len(length.value) and not _are_columns(rows.value)
    return False


def _are_columns(rows: cst.BaseExpression) -> bool:
    """Whether code goes through things that it names one by one, or through the values of a dict."""
    is_display = isinstance(rows, (cst.Dict, cst.List, cst.Set, cst.Tuple))
    return is_display or (isinstance(rows, cst.Call) and last_name(rows.func) in _VALUES)


def _is_len(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "len"
