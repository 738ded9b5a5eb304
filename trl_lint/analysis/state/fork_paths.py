"""The paths through the forks of a function: conditions that have the same result on all ranks.

For example:

    if upload:
        if sent(rows):
            barrier()
            return        the paths: one that ends here, and two to the end, with one barrier each
    barrier()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.other_ranks import are_for_other_ranks
from trl_lint.analysis.program.idioms.path_conditions import branches_around
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.sync_points import SyncPoint

# The maximum number of paths through the forks of a function that are compared; with more of them, none is.
_MAX_ALTERNATIVES = 16


class Fork(NamedTuple):
    """A condition that has the same result on all ranks: the points of its two branches, and those before its end.

    through: which branches reach its end. The points of one branch are alternatives to those of the other.
    """

    test: cst.CSTNode
    arms: tuple[Sequence[SyncPoint], Sequence[SyncPoint]]
    until: Sequence[SyncPoint]
    through: tuple[bool, bool]


class Forks:
    """The forks of a run, by their tests."""

    def __init__(self) -> None:
        self.by_test: dict[int, Fork] = {}


def waits_for_others(frame: Frame, test: cst.CSTNode, kind: str) -> bool:
    """Whether what the first rank reaches under a condition, the others reach under one of which less is known:
    `if unknown and rank != 0: barrier()`, where the condition is `unknown and rank == 0`.
    """
    forks = (each for each in frame.notes.of(Forks).by_test.values() if not each.arms[1])
    alike = (each for each in forks if [point.kind for point in each.arms[0]] == [kind])
    return any(are_for_other_ranks(test, each.test) for each in alike)


def alternatives(frame: Frame, path: Sequence[SyncPoint], taken: Mapping[int, int]) -> list[list[SyncPoint]]:
    """The sequences that a path may have, with either branch of each fork in it.

    A fork within a branch is left alone where the path takes the other branch. taken: the branches that it takes.
    """
    forks = list(reversed(frame.notes.of(Forks).by_test.values()))  # a fork is noted after those in its branches
    around = {id(fork.test): branches_around(frame.root, fork.test) for fork in forks}
    outer_tests = {test for tests in around.values() for test in tests}
    found: list[tuple[Sequence[SyncPoint], Mapping[int, int]]] = [(path, taken)]
    for fork in forks:
        parts = not all(fork.through) or any(point in path for arm in fork.arms for point in arm)
        if parts and len(found) >= _MAX_ALTERNATIVES:
            return [list(path)]
        if parts:
            variants = (each for one in found for each in _with_either_branch(fork, around[id(fork.test)], *one))
            kept = ((each, {test: arm for test, arm in arms.items() if test in outer_tests}) for each, arms in variants)
            found = list({(tuple(map(id, each)), *arms.items()): (each, arms) for each, arms in kept}.values())
    return [list(each) for each, _ in found]


def _with_either_branch(
    fork: Fork, around: Mapping[int, int], path: Sequence[SyncPoint], arms: Mapping[int, int]
) -> Iterator[tuple[Sequence[SyncPoint], Mapping[int, int]]]:
    """The paths through both branches of a fork; the same path if it takes a branch in which the fork is not.

    around: the branch of each fork around this one in which it is. arms: the branches that the path takes.
    """
    if any(arms.get(test, arm) != arm for test, arm in around.items()):
        yield path, arms
        return
    for arm in (0, 1):
        yield _with_branch_taken(fork, arm, path), {**arms, id(fork.test): arm}


def _with_branch_taken(fork: Fork, arm: int, path: Sequence[SyncPoint]) -> list[SyncPoint]:
    """The sequence of a path on which this branch of a fork is taken."""
    dropped = {id(point) for point in fork.arms[1 - arm]}
    if not fork.through[arm]:
        before = {id(point) for point in fork.until}
        dropped |= {id(point) for point in path if id(point) not in before}
    return [point for point in path if id(point) not in dropped]
