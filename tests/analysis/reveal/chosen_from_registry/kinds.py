"""The classes and functions that registries name."""


class Lazy:
    def __init__(self, rank):
        self.rank = rank

    def number(self):
        return self.rank


class Eager:
    def __init__(self, rank):
        self.rank = rank

    def number(self):
        return self.rank


def doubled(rank):
    return 2 * rank
