"""Whether two runs fail in the same way."""

from __future__ import annotations

import re

from trl_lint.verify.record.verdicts import Verdict

# Text that varies between runs: process numbers, ports, addresses, times, folders.
_VARIES = re.compile(r"\S*\d\S*")


def is_same(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts of an oracle report the same failure: for the same reason, at the same place."""
    if not (one.failed and other.failed) or (one.oracle, one.kind) != (other.oracle, other.kind):
        return False
    return all(one.data.get(key) == other.data.get(key) for key in ("error", "at")) and _message(one) == _message(other)


def _message(verdict: Verdict) -> str:
    return _VARIES.sub("#", str(verdict.data.get("said", "")))
