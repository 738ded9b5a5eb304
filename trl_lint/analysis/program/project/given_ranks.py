"""Attributes that hold the number of this process in the programs that pass it to the constructor.

    # train.py
    Trainer(model, int(os.environ["LOCAL_RANK"]))   self.rank: the number of this process
    # search.py
    Trainer(model, options.summarise)               nothing is known of it here

An object of a large class is joined from all code that creates one. A program of which nothing is known does not undo
what another one passes: in the first one, the attribute is a rank.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from trl_lint.domain import ranks
from trl_lint.domain.joins import join_all
from trl_lint.domain.values import Kind, Value


def rank_from_some(assigned: Mapping[Hashable, Value], init: object) -> Value | None:
    """The number of this process, if runs of `__init__` (`init` is its node) leave it or something unknown; else None.

    assigned: what each run of a method leaves in an attribute.
    """
    if any(not isinstance(writer, tuple) or writer[0] != id(init) for writer in assigned):
        return None
    known = [value for value in assigned.values() if not value.is_unknown]
    return join_all(known) if known and all(map(_is_rank, known)) else None


def _is_rank(value: Value) -> bool:
    return value.kind is Kind.NUMBER and value.rank == ranks.RANK_LOCAL
