"""Numbers of processes that only share work: a process that tells nobody its number is no rank of a job.

For example:

    def count(rows, rank, workers):       count(rows, rank, 8) in each process
        for row in rows[rank::workers]:   its share of the rows
            ...
        print(f"{rank} is done")

To join a group, a process has to say which rank it is: it passes its number on, compares it, or keeps it somewhere.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, names_in, value_names
from trl_lint.knowledge.process_starts import STARTS_OF_GROUP


def only_shares_work(function: cst.CSTNode, parameter: str) -> bool:
    """Whether a function takes its share by a number, `rows[rank::workers]`, and else at most shows it."""
    if not isinstance(function, cst.FunctionDef) or names_in(function.body) & (STARTS_OF_GROUP | {"environ"}):
        return False
    uses = [each for each in value_names(function.body) if each.value == parameter]
    around = [ancestors(function.body, each) for each in uses]
    shares = [path for path in around if _is_start_of_share(path)]
    shown = [path for path in around if any(isinstance(each, cst.FormattedString) for each in path)]
    return bool(shares) and len(shares) + len(shown) == len(uses)


def _is_start_of_share(path: tuple[cst.CSTNode, ...]) -> bool:
    """Whether the innermost node around a name is a slice with a step, `rank::workers`."""
    return isinstance(path[-1], cst.Slice) and path[-1].step is not None
