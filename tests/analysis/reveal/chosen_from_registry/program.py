"""Objects whose class a setting picks out of a dictionary in another file."""

import os

from .registry import FILLED, FUNCTIONS, KINDS, STATE, start


def main(args):
    rank = int(os.environ["RANK"])
    rows = KINDS[args.kind](rank)
    reveal_rank(rows.number())  # revealed: local(rank)
    reveal_rank(KINDS["lazy"](rank).number())  # revealed: local(rank)
    for kind in KINDS.values():
        reveal_rank(kind(rank).number())  # revealed: local(rank)
    reveal_rank(FUNCTIONS["doubled"](rank))  # revealed: local(rank)

    # Any code may have put something else there.
    start(rank)
    reveal_rank(STATE["rank"])  # revealed: unknown
    reveal_rank(FILLED[args.kind](rank))  # revealed: unknown
