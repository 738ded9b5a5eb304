"""Names that stand for a dict, going by what the code does with them.

data["labels"]                          only what has keys is read by one
for key in data: move(data[key])        what it gives in a loop are its keys
"""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from trl_lint.analysis.program.syntax import of_class

_TEXTS = (cst.ConcatenatedString, cst.FormattedString, cst.SimpleString)


@lru_cache(maxsize=64)
def read_by_key(root: cst.CSTNode) -> frozenset[str]:
    """The names that a piece of code reads, or writes, by a text or by what a loop over the same name gives."""
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
    """What a loop goes through, if only by `sorted(name)`, and the variable; two empty names for all else."""
    match loop.iter, loop.target:
        case ((cst.Name(name) | cst.Call(args=[cst.Arg(cst.Name(name))])), cst.Name(variable)):
            return name, variable
    return "", ""
