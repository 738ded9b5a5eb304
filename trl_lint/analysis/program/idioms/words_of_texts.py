"""Texts that are cut at their spaces: how many words one has depends on the data.

words += len(reference.split())      counted
len(rows.split(8))                   not: parts of a tensor, or of a text at something else
"""

from __future__ import annotations

import libcst as cst


def is_list_of_words(node: cst.BaseExpression | None) -> bool:
    """Whether an expression is the list of the words of a text."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name("split")), args=[]):
            return True
    return False
