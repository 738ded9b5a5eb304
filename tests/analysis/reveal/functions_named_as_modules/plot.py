"""A module from which only other names are imported: it keeps its own name."""


def draw(rank):
    return rank
