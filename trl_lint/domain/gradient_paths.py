"""How a value depends on the parameters that are trained: where the gradient of a loss goes from it.

    features = model(x)                   TRAINED: computed by a model, where gradients are on
    rows = gather(features)               cut: what a collective fills has no gradient, on the own rank neither
    rows.mean()                           cut, and nothing else of it is known to have a gradient (`whole`)
    features @ rows.T                     cut in one of its parts
    features.detach()                     None, as of data and of values of which nothing is known

>>> step = Step(None, "rows", "")
>>> rows = Gradient(step, whole=True)
>>> combined(rows, None) is rows, combined(TRAINED, None) is TRAINED, combined(None, None)
(True, True, None)
>>> combined(TRAINED, rows).whole, combined(rows, TRAINED).cut is step
(False, True)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import State

if TYPE_CHECKING:
    from trl_lint.domain.values import Value


@dataclass(slots=True, eq=False, repr=False)
class Gradient:
    """That a value is computed from parameters that are trained.

    cut: the collective behind which they get no gradient, if there is one. whole: whether nothing else that the value
    is computed from is known to give them one. Equal if it is the same collective.
    """

    cut: Step | None = None
    whole: bool = False

    @property
    def key(self) -> Hashable:
        return None if self.cut is None else id(self.cut.node), self.whole

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gradient) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


TRAINED = Gradient()


def combined(a: Gradient | None, b: Gradient | None) -> Gradient | None:
    """Of a value that is computed from two."""
    if a is b or b is None:
        return a
    if a is None:
        return b
    first = a if a.cut is not None else b
    if first.cut is None:
        return TRAINED
    whole = a.whole and b.whole
    return first if first.whole is whole else Gradient(first.cut, whole)


def either(a: Gradient | None, b: Gradient | None) -> Gradient | None:
    """Of a value that is one of two: on the way on which it is cut off, it is.

    >>> rows = Gradient(Step(None, "rows", ""), whole=True)
    >>> either(TRAINED, rows) is rows, either(None, TRAINED) is TRAINED
    (True, True)
    """
    return b if a is None or (a.cut is None and b is not None) else a


def among(whole: Gradient | None, part: Gradient | None) -> Gradient | None:
    """Of a list or a tensor that gets another part: with rows that are not cut off, it has those of this rank.

    >>> among(Gradient(Step(None, "rows", "")), TRAINED) is TRAINED
    True
    """
    found = combined(whole, part)
    return found if found is None or None not in (_cut_of(whole), _cut_of(part)) else TRAINED


def _cut_of(gradient: Gradient | None) -> Step | None:
    return None if gradient is None else gradient.cut


def of_either(found: Value, a: Value, b: Value) -> Value:
    """`found`, the join of two values."""
    gradient = either(a.gradient, b.gradient)
    return found if found.gradient is gradient else found.replace(gradient=gradient)


def of_element(found: Value, a: Value, b: Value) -> Value:
    """`found`, an element of a container that holds two values."""
    if found.gradient is None or State.BOTTOM in (a.rank.state, b.rank.state):
        return found
    return found.replace(gradient=among(a.gradient, b.gradient))


def combined_all(gradients: Iterable[Gradient | None]) -> Gradient | None:
    return reduce(combined, gradients, None)
