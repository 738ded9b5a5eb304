# A setting selects one of several classes of the project: facts that hold for all of them hold for the object.
import random

from torch.utils.data import Dataset


class Plain(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)


class Lazy(Plain):
    pass


class Kept(Dataset):
    def __init__(self, path):
        self.path = path


class Opened(Kept):
    pass


def kind_of(args):
    cls = Kept
    for name in args.names:
        cls = Opened if name == "open" else cls
    return cls


def main(args):
    rows = list(range(8))
    random.shuffle(rows)
    chosen = Lazy if args.lazy else Plain
    reveal_rank(chosen)  # revealed: same
    reveal_rank(chosen(rows))  # revealed: unknown
    reveal_rank(kind_of(args))  # revealed: same
    reveal_rank(kind_of(args)(args.path))  # revealed: same
    reveal_rank((Lazy if args.lazy else args.made_by)(args.path))  # revealed: unknown


main(read())
