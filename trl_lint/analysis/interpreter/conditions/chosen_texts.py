"""Texts and numbers of the rank of which all ranks choose the same, and tests that tell only which of them it is.

For example:

    place = "cpu" if args.cpu else rank
    place == "cpu"                    the same on all ranks: no number is a text
    place == 0                        differs between ranks
    place = "cpu" if rank == 0 else rank
    place == "cpu"                    differs: the rank has chosen

    device = f"cuda:{rank}" if torch.cuda.is_available() else "cpu"
    device == "cpu"                   the same on all ranks, as are device.startswith("cuda") and "cuda" in device
    device == "cuda:0"                differs
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import StringValue, flag
from trl_lint.domain.ranks import Rank
from trl_lint.domain.values import Kind, Value

# Whether a test of a text holds, with WILDCARD for the rank in it; None if that depends on the rank.
Test = Callable[[str, str], "bool | None"]


class _Choice(NamedTuple):
    """Of what is chosen, and the fact of the conditions that choose. value: the outcome, which keeps its id taken."""

    value: Value
    options: tuple[Value, ...]
    rank: Rank


class _Choices:
    """By the id of a value after a branch."""

    def __init__(self) -> None:
        self.found: dict[int, _Choice] = {}


def note(frame: Frame, options: Sequence[Value], division: Rank, joined: Value) -> Value:
    """The value that a condition chooses from these options, noted if it is one of a text and the rank."""
    known = frame.notes.of(_Choices).found
    if division.differs or not joined.rank.is_by_rank:
        return joined.replace() if id(joined) in known else joined  # from here on the rank has chosen
    choices = [known.get(id(each)) or _Choice(each, (each,), ranks.SAME) for each in options]
    flat = tuple(each for choice in choices for each in choice.options)
    if all(map(_is_known, flat)):
        rank = ranks.combine_all([division, *(choice.rank for choice in choices)])
        known[id(joined)] = _Choice(joined, flat, rank)
    return joined


def note_after(frame: Frame, ends: tuple[Mapping[str, Value], Mapping[str, Value]], division: Rank) -> None:
    """The same for the names at the ends of two branches."""
    taken, skipped = ends
    for name, value in taken.items():
        other = skipped.get(name)
        joined = frame.memory.names.get(name)
        if other is not None and joined is not None and value is not other and Kind.STRING in (value.kind, other.kind):
            frame.memory.names[name] = note(frame, (value, other), division, joined)


def compared(frame: Frame, left: Value, operator: cst.CSTNode, right: Value) -> Value | None:
    """The value of a comparison that tells only which was chosen; None for another one."""
    match operator:
        case cst.Equal() | cst.NotEqual():
            answer = _answer(frame, left, (right,), _equals) or _answer(frame, right, (left,), _equals)
        case cst.In() | cst.NotIn() if isinstance(right, StringValue):
            answer = _answer(frame, right, (left,), _contains)
        case cst.In() | cst.NotIn():
            answer = _answer(frame, left, tuple(frame.memory.contents(right)), _equals)
        case _:
            return None
    return answer


def begins(frame: Frame, text: Value, method: str, given: Sequence[Value]) -> Value | None:
    """The same of `device.startswith("cuda")`."""
    return _answer(frame, text, given, _begins) if method == "startswith" else None


def _answer(frame: Frame, chosen: Value, others: Sequence[Value], test: Test) -> Value | None:
    choice = frame.notes.of(_Choices).found.get(id(chosen))
    if choice is None or not others or not all(map(_is_plain, others)):
        return None
    tested = (_tests(option, others, test) for option in choice.options)
    return None if any(None in answers for answers in tested) else flag(rank=choice.rank)


def _tests(option: Value, others: Sequence[Value], test: Test) -> Iterator[bool | None]:
    """A number is none of these texts."""
    return (option.kind is Kind.STRING and test(str(option.const), str(other.const)) for other in others)


def _is_known(option: Value) -> bool:
    """Whether an option is the number of the rank, or a known text, possibly with the rank behind its beginning."""
    if not isinstance(option, StringValue):
        return option.kind is Kind.NUMBER and option.rank.is_by_rank
    if not isinstance(option.const, str):
        return False
    head, unknown, tail = option.const.partition(WILDCARD)
    return not unknown or (bool(head) and WILDCARD not in tail and option.rank.is_by_rank)


def _is_plain(value: Value) -> bool:
    return isinstance(value.const, str) and WILDCARD not in value.const


def _equals(text: str, other: str) -> bool | None:
    head, unknown, tail = text.partition(WILDCARD)
    if not unknown:
        return text == other
    return None if other.startswith(head) and other.endswith(tail) else False


def _begins(text: str, start: str) -> bool | None:
    head, unknown, _ = text.partition(WILDCARD)
    return None if unknown and len(start) > len(head) and start.startswith(head) else head.startswith(start)


def _contains(text: str, part: str) -> bool | None:
    """A part with a digit in it may be the rank."""
    if any(part in each for each in text.split(WILDCARD)):
        return True
    return None if WILDCARD in text and any(each.isdigit() for each in part) else False
