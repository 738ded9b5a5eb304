"""What a library makes of rows that a rank has drawn, in their order: tensors, arrays and tables of them.

train, test = train_test_split(rows)
torch.from_numpy(train)                        DRAWN
torch.tensor(train).float()                    DRAWN
numpy.asarray(train)                           DRAWN
torch.arange(len(train))                       no rows: the same on all ranks
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.transfer.data.draws import draws_of
from trl_lint.domain import ranks
from trl_lint.domain.ranks import State
from trl_lint.knowledge.random_draws import KEEP_ROWS, ROWS_OF_TENSORS

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.torch_ops import Operation


def made(frame: Frame, name: str, args: Arguments, value: Value) -> Value:
    """The result of a function that makes something else of the rows that it is passed first, and keeps their order."""
    rows = args.positional[0] if name in KEEP_ROWS and args.positional else None
    if rows is None or value.rank.state is not State.UNKNOWN:
        return value
    draw = next(draws_of(frame, [rows]), None)
    return value if draw is None else value.replace(rank=ranks.DRAWN, provenance=draw)


def converted(row: Operation, tensor: Value, value: Value) -> Value:
    """The result of a method of a tensor, which may be the same drawn rows with another type, or in another place."""
    is_drawn = tensor.rank == ranks.DRAWN and row.name in ROWS_OF_TENSORS and value.rank.state is State.UNKNOWN
    return value.replace(rank=tensor.rank, provenance=tensor.provenance) if is_drawn else value
