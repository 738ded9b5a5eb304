"""What is known of a number in addition: where it was read from, and what it is on a single process."""

from __future__ import annotations

from trl_lint.domain.constants import OnOneProcess
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
