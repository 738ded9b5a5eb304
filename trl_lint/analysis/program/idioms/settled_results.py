"""Results that an earlier call on the same object, in the same function, has settled among the ranks.

score = metric.aggregate()                      all ranks gather what each has added
if rank == 0:
    by_class = metric.aggregate("mean_batch")   of what is gathered: nobody is asked again
metric.reset()
metric(outputs, labels)                         what is added from here on is not gathered yet
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import inwards, of_class

# A block of one of these runs whenever the function gets there.
_ALWAYS_RUN = (cst.Try, cst.With)


def is_settled(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the last call on the object, in the order of the text, is one of that method, and made on every path."""
    is_asked = False
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))):
            for call in of_class(root, cst.Call):
                if call is node:
                    return is_asked
                match call.func:
                    case cst.Attribute(value=other, attr=cst.Name(method)) if other.deep_equals(owner):
                        is_every = is_asked or _blocks(root, call) <= _blocks(root, node)
                        is_asked = method == name and is_every
                    case func if func.deep_equals(owner):
                        is_asked = False
    return False


def _blocks(root: cst.CSTNode, node: cst.CSTNode) -> set[int]:
    """The ids of the blocks around a node that may be skipped, or run several times."""
    return {
        id(block)
        for outer, block in inwards(root, node)
        if isinstance(block, cst.IndentedBlock) and outer is not root and not isinstance(outer, _ALWAYS_RUN)
    }
