"""What divides the ranks: the kinds of places where some of them take another way than the others.

if rank == 0: ...           CONDITION
for batch in own_rows: ...  LOOP
for row in rows[rank::8]:   SHARE
"""

from __future__ import annotations

from enum import Enum


class DividedBy(Enum):
    """What makes some ranks take another branch than the others."""

    CONDITION = "an `if`, or an expression that chooses"
    CASE = "a `case` of a `match`"
    LOOP = "how often a loop is run"
    SHARE = "how often a loop is run, once for each row that a rank gets of those that are dealt out"
    EXCEPTION = "an exception that some of them catch"
    DECORATOR = "a decorator that lets only some of them in"
    SEQUENTIAL = "a block that one rank after the other runs"

    @property
    def is_loop(self) -> bool:
        return self in (DividedBy.LOOP, DividedBy.SHARE)
