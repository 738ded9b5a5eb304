"""Whether code computes with all parameters of a model, so that each of them gets a gradient from a loss.

For example:

    loss += sum(p.pow(2).sum() for p in model.parameters())     it does
    for p in model.parameters():
        difference = p - before[p]
        loss = loss + (difference ** 2).sum()                   it does
        total += p.numel()                                      it does not
    optimizer = SGD(model.parameters(), lr=0.1)                 it does not
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from trl_lint.knowledge.trained_layers import COMPUTES, GETS_ALL_AT_ONCE, LISTS_EACH_PARAMETER, NOT_THEIR_VALUES

_COMPUTES, _NOT_THEIR_VALUES, _LISTS = (re.compile(each) for each in (COMPUTES, NOT_THEIR_VALUES, LISTS_EACH_PARAMETER))
_AT_ONCE = re.compile(GETS_ALL_AT_ONCE)
_OPENS, _CLOSES = b"([{", b")]}"
# How many lines an expression has, or a loop, as far as it is read.
_MOST_LINES = 8


def computes_with_all_parameters(code: bytes) -> bool:
    if b"parameters()" not in code:
        return False
    return bool(_AT_ONCE.search(code)) or any(map(_computes, _code_of_each(code)))


def _computes(part: bytes) -> bool:
    return _COMPUTES.search(part) is not None and _NOT_THEIR_VALUES.search(part) is None


def _code_of_each(code: bytes) -> Iterator[bytes]:
    """What code does with each of the parameters that it lists: the lines of a loop, or an expression around `for`."""
    lines = code.split(b"\n")
    for place, line in enumerate(lines):
        if b"parameters()" not in line or not _LISTS.search(line):
            continue
        if line.lstrip().startswith(b"for ") and b":" in line:
            head, _, rest = line.rpartition(b":")
            yield from (rest, *_block(lines, place)) if b"parameters()" in head else _block(lines, place)
        else:
            yield _expression(lines, place)


def _block(lines: Sequence[bytes], place: int) -> list[bytes]:
    indent = _indent(lines[place])
    behind = lines[place + 1 : place + 1 + _MOST_LINES]
    return [*takewhile(lambda each: not each.strip() or _indent(each) > indent, behind)]


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _expression(lines: Sequence[bytes], place: int) -> bytes:
    """A line, with those before and behind it to which brackets go on."""
    starts = [each for each in range(max(0, place - _MOST_LINES), place) if _open(lines[each : each + 1]) > 0]
    first = next((each for each in starts if _open(lines[each:place]) > 0), place)
    last = place
    while last < min(len(lines) - 1, place + _MOST_LINES) and _open(lines[first : last + 1]) > 0:
        last += 1
    return b" ".join(lines[first : last + 1])


def _open(lines: Sequence[bytes]) -> int:
    """How many more brackets are opened than closed."""
    return sum((each in _OPENS) - (each in _CLOSES) for line in lines for each in line)
