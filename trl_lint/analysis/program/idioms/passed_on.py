"""What a condition, or the iterable of a loop, names that decides about it.

tqdm(rows, disable=not is_main_process)             `rows`: whether the bar is shown does not change what it yields
enumerate(tqdm(rows, desc=name))                    `enumerate`, `rows`
rows if is_main_process else []                     `rows`, `is_main_process`
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import identifiers, last_name
from trl_lint.knowledge.python import PASS_ON


def deciding_names(test: cst.CSTNode) -> Iterator[str]:
    """The names and attributes in an expression, without what a call that passes on its first argument is told."""
    if isinstance(test, cst.Call):
        is_passed_on = last_name(test.func) in PASS_ON
        for each in test.args:
            if not is_passed_on or each.keyword is None:
                yield from deciding_names(each.value)
        if not is_passed_on:
            yield from identifiers(test.func)
    else:
        yield from identifiers(test)
