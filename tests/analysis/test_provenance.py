"""Steps of a chain: each keeps its text when another chain is put before it."""

from __future__ import annotations

import inspect

import pytest

from trl_lint.domain import provenance, ranks
from trl_lint.domain.provenance import EitherPlace, Step

OWN = {"before": None, "function": None, "loop": None, "names": frozenset({"x"}), "outcomes": (), "rank": ranks.SAME}
CLASSES = [
    each
    for each in vars(provenance).values()
    if inspect.isclass(each) and issubclass(each, Step) and each is not EitherPlace
]


def made(cls: type[Step]) -> Step:
    parameters = list(inspect.signature(cls.__init__).parameters)[1:]
    return cls(**{name: OWN.get(name, f"<{name}>") for name in parameters})


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_step_behind_another_one_is_the_same_step(cls):
    step, before = made(cls), made(Step)
    moved = step.preceded_by(before)
    assert type(moved) is cls
    assert moved.before is before
    slots = {slot for each in cls.__mro__ for slot in getattr(each, "__slots__", ())} - {"before"}
    assert {slot: getattr(moved, slot) for slot in slots} == {slot: getattr(step, slot) for slot in slots}
