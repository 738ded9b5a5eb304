"""Environment variables whose names are in a list, or unknown."""

import os


def read(name):
    return int(os.environ.get(name, 0))


def main(variable):
    rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    reveal_rank(rank)  # revealed: local(rank)
    reveal_rank(world)  # revealed: same
    reveal_rank(local)  # revealed: local(rank)
    first, second = [int(os.environ[name]) for name in ("HOME_SIZE", "RANK")]
    reveal_rank(first)  # revealed: same
    reveal_rank(second)  # revealed: local(rank)
    reveal_rank(read("RANK"))  # revealed: local(rank)
    reveal_rank(read("JOB"))  # revealed: same
    reveal_rank(os.environ[variable])  # revealed: unknown
    reveal_rank(read(variable))  # revealed: unknown
    for given in (read("A"), read("B"), read("C"), read("D"), read("E"), read("F"), read("G"), read("H"), read("I")):
        print(given)
    reveal_rank(read("J"))  # revealed: same
    reveal_rank(read("K"))  # revealed: same
    reveal_rank(read("L"))  # revealed: same
    reveal_rank(read("M"))  # revealed: same
    reveal_rank(read("LOCAL_RANK"))  # revealed: local(rank)


main(input())
