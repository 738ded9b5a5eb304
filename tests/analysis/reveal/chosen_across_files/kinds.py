"""Classes and functions that the other file chooses from."""

from torch.distributed import get_rank


class Plain:
    @classmethod
    def title(cls):
        return "plain"

    def name(self):
        return "name"


class Apart(Plain):
    @classmethod
    def title(cls):
        return f"apart_{get_rank()}"


def number():
    return 1


def rank():
    return get_rank()
