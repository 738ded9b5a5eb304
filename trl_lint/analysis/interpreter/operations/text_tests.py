"""Tests of how a text begins or ends, whose outcome is known where the code says so.

For example:

    def copy(source):
        if source.startswith("hdfs"):         never for `copy("config.yaml")`
            ...
    path = f"out/{step}.pt"
    path.endswith(".pt")                      always, whatever the step is
    path.startswith("out/1")                  depends on the step
"""

from __future__ import annotations

from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import StringValue, TupleValue, flag
from trl_lint.domain.values import Value


def decided(text: StringValue, method: str, args: Arguments) -> Value | None:
    """The result of `text.startswith(part)` or `text.endswith(part)`; None for other calls, or if it is not known."""
    if method not in ("endswith", "startswith") or not isinstance(text.const, str) or len(args.all()) != 1:
        return None
    given = args.positional[0] if args.positional else None
    parts = [each.const for each in (given.items if isinstance(given, TupleValue) else (given,)) if each is not None]
    if not parts or not all(isinstance(each, str) and WILDCARD not in each for each in parts):
        return None
    outcomes = [_outcome(text.const, method == "startswith", str(each)) for each in parts]
    if True in outcomes:
        return flag(True)
    return None if None in outcomes else flag(False)


def _outcome(text: str, at_start: bool, part: str) -> bool | None:
    """Whether a text, of which some parts may be unknown, begins or ends with another one; None if that depends."""
    known = text.partition(WILDCARD)[0] if at_start else text.rpartition(WILDCARD)[2]
    if WILDCARD not in text or len(part) <= len(known):
        return known.startswith(part) if at_start else known.endswith(part)
    is_open = part.startswith(known) if at_start else part.endswith(known)
    return None if is_open else False
