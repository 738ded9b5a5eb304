"""Attributes that a constructor replaces after methods that it has called assigned them."""

from accelerate import Accelerator
from torch.utils.data import DataLoader


class BuiltThenPrepared:
    def __init__(self, rows):
        self.accelerator = Accelerator()
        self.rows = rows
        self.setup()
        self.model, self.loader = self.accelerator.prepare(self.model, self.loader)

    def setup(self):
        self.build()
        for batch in self.loader:
            reveal_rank(batch)  # revealed: unknown

    def build(self):
        self.model = make_model()
        self.loader = DataLoader(self.rows)

    def train(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: shard
            reveal_rank(self.model(batch).mean())  # revealed: partial(mean)


class BuiltAgain:
    """Another method builds the loader once more."""

    def __init__(self, rows):
        self.accelerator = Accelerator()
        self.rows = rows
        self.build()
        self.loader = self.accelerator.prepare(self.loader)

    def build(self):
        self.loader = DataLoader(self.rows)

    def train(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: unknown
        self.build()


class PreparedOnRequest:
    """The loader may stay as it was built."""

    def __init__(self, rows, prepare):
        self.accelerator = Accelerator()
        self.rows = rows
        self.build()
        if prepare:
            self.loader = self.accelerator.prepare(self.loader)

    def build(self):
        self.loader = DataLoader(self.rows)

    def train(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: unknown


class BuiltByOthers:
    """Code outside the class builds the loader again."""

    def __init__(self, rows):
        self.accelerator = Accelerator()
        self.rows = rows
        self.construct()
        self.loader = self.accelerator.prepare(self.loader)

    def construct(self):
        self.loader = DataLoader(self.rows)

    def train(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: unknown


class PreparedByMethod:
    """A constructor of a base calls methods in order; the last one replaces what one of the heir has built."""

    def __init__(self, rows):
        self.accelerator = Accelerator()
        self.rows = rows
        self.assemble()
        self.prepare()

    def assemble(self):
        raise NotImplementedError

    def prepare(self):
        self.loader = self.accelerator.prepare(self.loader)

    def train(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: shard | unknown


class Assembled(PreparedByMethod):
    def __init__(self, rows):
        super().__init__(rows)
        self.step = 0

    def assemble(self):
        self.loader = DataLoader(self.rows)

    def first(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: shard
            return batch


class AssembledAfter(PreparedByMethod):
    """The heir builds the loader again once the base has prepared it."""

    def __init__(self, rows):
        super().__init__(rows)
        self.assemble()

    def assemble(self):
        self.loader = DataLoader(self.rows)

    def first(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: unknown
            return batch


class PreparedUnlessPlain(PreparedByMethod):
    def assemble(self):
        self.loader = DataLoader(self.rows)

    def prepare(self):
        if self.rows.is_plain:
            return
        self.loader = self.accelerator.prepare(self.loader)

    def first(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: unknown
            return batch


class AnnotatedAgain(PreparedByMethod):
    """An annotation without a value assigns nothing."""

    def __init__(self, rows):
        super().__init__(rows)
        self.loader: DataLoader

    def assemble(self):
        self.loader = DataLoader(self.rows)

    def first(self):
        for batch in self.loader:
            reveal_rank(batch)  # revealed: shard
            return batch


BuiltThenPrepared(read_rows()).train()
Assembled(read_rows()).train()
Assembled(read_rows()).first()
AssembledAfter(read_rows()).first()
PreparedUnlessPlain(read_rows()).first()
AnnotatedAgain(read_rows()).first()
BuiltAgain(read_rows()).train()
PreparedOnRequest(read_rows(), read_setting()).train()
trainer = BuiltByOthers(read_rows())
trainer.construct()
trainer.train()
