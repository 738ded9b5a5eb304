"""A program that takes all names of the inner package."""

from names_of_inner_packages.tools import *

reveal_rank(get_place(1)[0])  # revealed: local(rank)
reveal_rank(opened(1))  # revealed: same
reveal_rank(get_nothing(1))  # revealed: unknown
