"""A program that calls the package's functions."""

import os

import functions_named_as_modules as tools
from functions_named_as_modules import fit as fitted
from functions_named_as_modules import plot

rank = int(os.environ["RANK"])
reveal_rank(tools.fit(rank))  # revealed: local(rank)
reveal_rank(fitted(rank))  # revealed: local(rank)
reveal_rank(tools.draw(rank))  # revealed: local(rank)
reveal_rank(tools.plot.draw(rank))  # revealed: local(rank)
reveal_rank(plot.draw(rank))  # revealed: local(rank)
