"""A module of which only other names are taken out: it stays there under its own."""


def draw(rank):
    return rank
