"""Names of dicts, inferred from what the code does with them.

For example:

    data["labels"]                          only a mapping is read by a text
    for key in data: move(data[key])        the loop runs over its keys
"""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from trl_lint.analysis.program.syntax import of_class

_TEXTS = (cst.ConcatenatedString, cst.FormattedString, cst.SimpleString)


@lru_cache(maxsize=64)
def read_by_key(root: cst.CSTNode) -> frozenset[str]:
    """The names that a piece of code subscripts with a text, or with the variable of a loop over the same name."""
    walked = set(map(_walked, of_class(root, cst.For))) | set(map(_walked, of_class(root, cst.CompFor)))
    found: set[str] = set()
    for node in of_class(root, cst.Subscript):
        match node:
            case cst.Subscript(cst.Name(name), [cst.SubscriptElement(cst.Index(index))]):
                by_variable = isinstance(index, cst.Name) and (name, index.value) in walked
                if by_variable or isinstance(index, _TEXTS):
                    found.add(name)
    return frozenset(found)


def _walked(loop: cst.For | cst.CompFor) -> tuple[str, str]:
    """The name that a loop runs over, directly or as `sorted(name)`, and its variable; two empty names otherwise."""
    match loop.iter, loop.target:
        case ((cst.Name(name) | cst.Call(args=[cst.Arg(cst.Name(name))])), cst.Name(variable)):
            return name, variable
    return "", ""
