"""Conditions of shell scripts that compare a number of GPUs which the script itself writes out.

    ngpu=1
    if [[ $ngpu -gt 1 ]]; then …          does not hold: what stands there is not run as the script is
    if [ "$N" -gt 1 ]; then …             N=$2 is the caller's: not known
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping

from trl_lint.knowledge.heuristics import ASKS_FOR_GPUS

_COMPARES = re.compile(r"if\s+\[\[?\s+\"?\$\{?(\w+)\}?\"?\s+-(eq|ne|gt|ge|lt|le)\s+\"?(\d+)\"?\s+\]\]?\s*;?")
_ANSWERS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip


def answer(condition: str, values: Mapping[str, object], written_out: Collection[str]) -> bool | None:
    """Whether a condition holds; None where it compares nothing of the kind.

    condition: its text, from `if` on. values: what variables hold. written_out: those that the script gives it to.
    """
    match = _COMPARES.fullmatch(condition.strip())
    if match is None or match[1] not in written_out or not ASKS_FOR_GPUS.fits(match[1]):
        return None
    value = values.get(match[1])
    is_number = isinstance(value, str) and value.isdecimal() and max(len(value), len(match[3])) < 6
    return _ANSWERS[match[2]](int(str(value)), int(match[3])) if is_number else None
