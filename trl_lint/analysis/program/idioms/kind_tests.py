"""Values that are created only for one kind of data, which a test compares with a string.

For example:

    sampler = None
    if distributed and split == "train":        the loader of another split has no sampler
        sampler = DistributedSampler(rows)
    loader = DataLoader(rows, sampler=sampler)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, of_class


def kind_tests(root: cst.CSTNode, name: str) -> Iterator[cst.Comparison]:
    """The comparisons with a string that decide whether a function (or module) assigns a call's result to a name."""
    for assignment in of_class(root, cst.Assign):
        if any(isinstance(each.target, cst.Name) and each.target.value == name for each in assignment.targets):
            yield from _tests_for(root, assignment)


def _tests_for(root: cst.CSTNode, assignment: cst.Assign) -> Iterator[cst.Comparison]:
    value = assignment.value
    if isinstance(value, cst.IfExp):
        yield from _comparisons(value.test)
        value = value.body
    if not isinstance(value, cst.Call):
        return
    for outer, inner in pairwise((*ancestors(root, assignment), assignment)):
        if isinstance(outer, cst.If) and inner is outer.body:
            yield from _comparisons(outer.test)


def _comparisons(test: cst.BaseExpression) -> Iterator[cst.Comparison]:
    for each in of_class(test, cst.Comparison):
        if any(isinstance(target.comparator, cst.SimpleString) for target in each.comparisons):
            yield each
