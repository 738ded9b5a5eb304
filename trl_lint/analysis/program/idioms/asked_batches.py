"""What a call asks for its next element, by the function or by a method of an iterator.

next(batches), batches.next(), batches.__next__()       `batches`
next(batches, None)                                     the same
queue.get()                                             nothing
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import last_name

ASKS = "next"
ASKS_ITSELF = frozenset({"__next__", ASKS})


def asked_of(call: cst.Call) -> cst.BaseExpression | None:
    """What a call asks for its next element; None if it is another call."""
    match call:
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name == ASKS:
            return first.value
        case cst.Call(func=cst.Attribute(value=asked), args=[]) if last_name(call.func) in ASKS_ITSELF:
            return asked
    return None
