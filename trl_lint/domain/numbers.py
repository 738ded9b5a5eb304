"""What is known of a number in addition: where it was read from, and what it is on a single process."""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.domain.constants import MISSING, WORLD_SIZE, OnOneProcess
from trl_lint.domain.kinds import NumberListValue, NumberValue
from trl_lint.domain.values import Value


def single_process_value(value: Value) -> OnOneProcess | None:
    """The value that a rank-dependent number has on a single process, if known."""
    return value.on_one_process if isinstance(value, NumberValue) else None


def with_single_process_value(value: Value, on_one_process: OnOneProcess | None) -> Value:
    """The value with the result that it has on a single process."""
    return value.with_parts(None, on_one_process) if isinstance(value, NumberValue) else value


def source_of(value: Value) -> Value | None:
    """The value that a number or a list of numbers was read from."""
    return value.source if isinstance(value, (NumberValue, NumberListValue)) else None


def with_source(source: Value, result: Value) -> Value:
    """A number or a list of numbers, with the value that it was read from."""
    if isinstance(result, NumberValue):
        return result.with_parts(source, None)
    return result.with_parts(source) if isinstance(result, NumberListValue) else result


def is_one(value: Value | None) -> bool:
    """Whether a value is the number 1, and not the flag that equals it.

    >>> is_one(NumberValue(const=1)), is_one(NumberValue(const=True)), is_one(None)
    (True, False, False)
    """
    return value is not None and type(value.const) is int and value.const == 1


def largest(values: Sequence[Value]) -> object:
    """The constant of the largest of some numbers, if it is the number of processes: `max(1, world_size)`.

    >>> one, size = NumberValue(const=1), NumberValue(const=WORLD_SIZE)
    >>> largest([one, size]), largest([NumberValue(const=64), size]) is MISSING
    (world size, True)
    """
    others = [each.const for each in values if each.const is not WORLD_SIZE]
    is_size = len(others) < len(values) and all(type(each) is int and each <= 2 for each in others)
    return WORLD_SIZE if is_size else MISSING
