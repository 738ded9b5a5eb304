"""The `__init__` of a base sets an attribute to the constant that it is given, whatever other objects have there."""

from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, folder, epoch=None, mode="w"):
        self.mode = mode
        self.folder = folder

    @classmethod
    def load(cls, folder, **kwargs):
        return cls(folder, mode="r", **kwargs)


class Cached(Rows):
    def __init__(self, folder, size=None, mode="w"):
        super().__init__(folder, None, mode)
        if self.mode == "r":
            reveal_rank(folder)  # revealed: same
        if self.mode == "x":
            reveal_rank(folder)  # revealed: never


class Middle(Rows):
    def __init__(self, folder, mode="w"):
        super().__init__(folder, None, mode)
        self.size = 3


class Leaf(Middle):
    def __init__(self, folder, mode="w"):
        super().__init__(folder, mode=mode)
        if self.mode == "x":
            reveal_rank(folder)  # revealed: never


class Changed(Rows):
    """Something that the base calls, or this one behind it, may set the attribute again."""

    def __init__(self, folder, mode="w"):
        super().__init__(folder, None, mode)
        self.fill()
        if self.mode == "x":
            reveal_rank(folder)  # revealed: same

    def fill(self):
        self.mode = unknown()


class Asks(Rows):
    def __init__(self, folder, mode="w"):
        super().__init__(folder, None, unknown(mode))
        if self.mode == "x":
            reveal_rank(folder)  # revealed: same


class Set(Dataset):
    def __init__(self, folder, mode="w", **kwargs):
        self.mode = mode
        for name, value in kwargs.items():
            setattr(self, name, value)


class SetByText(Set):
    """Whoever makes the object may give it another one."""

    def __init__(self, folder, **kwargs):
        super().__init__(folder, **kwargs)
        if self.mode == "x":
            reveal_rank(folder)  # revealed: same


class Configured(Dataset):
    def __init__(self, folder, mode="w"):
        self.mode = mode

    def configure(self):
        self.mode = unknown()

    def count(self):
        self.size = unknown()


class Configures(Configured):
    """A method of the base that the heir calls afterwards sets it again."""

    def __init__(self, folder):
        super().__init__(folder)
        self.count()
        if self.mode == "x":
            reveal_rank(folder)  # revealed: never
        self.configure()
        if self.mode == "x":
            reveal_rank(folder)  # revealed: same


SetByText("rows", **unknown())
Configures("rows")
Cached.load("rows", size=3)
Cached("rows")
Leaf("rows", "r")
Leaf("rows")
Changed("rows", "r")
Asks("rows")
