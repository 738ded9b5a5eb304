"""Rows that each rank keeps at random: those for which a number that it draws is small enough, or some of a table.

mask = np.random.rand(len(table)) < 0.8
train, test = table[mask], table[~mask]              both: DRAWN
[row for row in rows if random.random() < 0.8]       DRAWN
table.sample(frac=0.8)                               DRAWN, of pandas
table.sample(frac=0.8, random_state=0)               the same on all ranks
rows[torch.rand(len(rows), generator=seeded) < 0.8]  the same
table * np.random.rand(len(table))                   all rows, with numbers of this rank's own
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import resolved
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.transfer.data.draws import Draw, is_drawn
from trl_lint.domain import ranks
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import random_draws as table

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.provenance import Step

# Kinds that the rows of a table or an array may have, as far as they are known.
_OF_TABLES = frozenset({Kind.TENSOR, Kind.UNKNOWN})


def sampled(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
    """What `table.sample(frac=0.8)` gives, or what a method gives anyway. Only pandas has such a parameter."""
    if name != table.SAMPLES_ROWS or table.SHARE_OF_ROWS not in args.keywords:
        return value
    if receiver.rank.differs or receiver.kind not in _OF_TABLES or not is_drawn(frame, table.SAMPLE_OF_ROWS, args):
        return value
    return Value(ranks.DRAWN, provenance=Draw(frame, node, name, table.SAMPLE_OF_ROWS, args))


def of_index(frame: Frame, index: cst.BaseExpression) -> Step | None:
    """The draw of the numbers by which a mask keeps rows: `mask`, `~mask`; None for other places."""
    while isinstance(index, cst.UnaryOperation) and isinstance(index.operator, cst.BitInvert):
        index = index.expression
    return of_test(frame, resolved(frame.root, index))


def of_test(frame: Frame, test: cst.BaseExpression, *, of_one: bool = False) -> Step | None:
    """The draw of a number that a test compares: `random.random() < 0.8`; None for other tests.

    of_one: whether it is drawn again for each row; then there is no call to which a seed could be passed.
    """
    match test:
        case cst.Comparison(cst.Call() as call, [cst.ComparisonTarget()]):
            name = library_function_of(frame, call.func)
            row = table.DRAW_FRACTIONS.get(name)
            if row is not None and is_drawn(frame, row, _seeds_in(frame, call, row)):
                return Draw(frame, call, name, replace(row, receiver="") if of_one else row, Arguments())
    return None


def _seeds_in(frame: Frame, call: cst.Call, row: table.DrawRow) -> Arguments:
    """The arguments of a call that say what it draws with: `torch.rand(n, generator=generator)`."""
    names = {name for _, name in row.seeds}
    given = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
    return Arguments((), {name: frame.known_value(given[name]) or UNKNOWN for name in names & given.keys()})
