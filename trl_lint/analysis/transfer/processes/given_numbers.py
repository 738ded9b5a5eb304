"""Values that are the number of this process, since the file passes them to the start of the process group.

A file that is passed the rank by hand knows by which number to choose its GPU, too: it counts as the rank on one node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.passed_ranks import passed_ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.schema import RANK_INDEX

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

_KINDS = frozenset({Kind.NUMBER, Kind.STRING, Kind.UNKNOWN})


def with_given_number(frame: Frame, node: cst.Attribute | cst.Name, value: Value) -> Value:
    """The value of a name or an attribute, which is the rank if the file says so.

    What is known of it otherwise counts more: a constant, or that it differs between ranks.
    """
    if value.kind not in _KINDS or value.rank.differs or value.const is not MISSING:
        return value
    passed = passed_ranks(frame.engine.project, frame.module)
    if isinstance(node, cst.Name):
        is_local = node.value in frame.memory.names and isinstance(frame.root, cst.FunctionDef)
        owner = frame.root.name.value if isinstance(frame.root, cst.FunctionDef) and is_local else ""
        is_rank = (owner, node.value) in passed.names
    else:
        owner = node.value.value if isinstance(node.value, cst.Name) else ""
        is_rank = (owner, node.attr.value) in passed.attributes
    if not is_rank:
        return value
    step = frame.step(node, "`{}` is passed to the process group as the number of this process")
    return RANK_INDEX.replace(provenance=step)
