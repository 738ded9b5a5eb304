"""When two numbers count as the same, and how they are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Between ranks of one run the same operations run on the same data: only the order of a float32 sum may differ.
BETWEEN_RANKS = 1e-5
# Between two runs that sum in another order, or in other batches, float32 rounding grows with the steps.
BETWEEN_RUNS = 1e-3
# Trainer rounds the logged loss to this number of digits.
ROUNDED_DIGITS = 4


def is_same(a: float, b: float, tolerance: float, scale: float = 0.0) -> bool:
    """Whether two values agree. `scale`: the size of the numbers that they are differences or means of."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if a == b or math.isinf(a) or math.isinf(b):
        return a == b
    slack = tolerance * max(abs(a), abs(b)) + tolerance * 1e-2 * scale
    if round(a, ROUNDED_DIGITS) == a and round(b, ROUNDED_DIGITS) == b:
        slack = max(slack, 1.01 * 10**-ROUNDED_DIGITS if tolerance >= BETWEEN_RUNS else 0.0)
    return abs(a - b) <= slack


def all_same(values: Sequence[float], tolerance: float) -> bool:
    return all(is_same(values[0], value, tolerance, max(map(abs, values))) for value in values[1:])


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)  # fmean raises for infinities of both signs


def as_text(value: float) -> str:
    return f"{value:.6g}"


def relative_difference(values: Sequence[float], reference: float) -> float:
    """The error of the first value, relative to the reference."""
    difference = abs(values[0] - reference)
    return difference / abs(reference) if reference else math.inf if difference else 0.0
