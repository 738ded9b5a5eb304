"""Results that an earlier call on the same object, in the same function, has settled among the ranks.

score = metric.aggregate()                      all ranks gather what each has added
if rank == 0:
    by_class = metric.aggregate("mean_batch")   of what is gathered: nobody is asked again
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import of_class


def is_settled(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a method of the same name is called on the same object before, in the order of the text."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))):
            for call in of_class(root, cst.Call):
                if call is node:
                    return False
                func = call.func
                if isinstance(func, cst.Attribute) and func.attr.value == name and func.value.deep_equals(owner):
                    return True
    return False
