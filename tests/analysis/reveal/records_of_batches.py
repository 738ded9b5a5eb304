"""Records made of a batch have what is in it, also those whose bases have an `__init__` of their own."""

from dataclasses import dataclass

from lightning import LightningModule


@dataclass
class Base:
    def __init__(self):
        pass

    @classmethod
    def of(cls, batch):
        return cls(**batch)


@dataclass
class Sample(Base):
    image: str
    scale: float


@dataclass
class Crop(Base):
    image: str
    scale: float


@dataclass
class Sizes:
    rows: int
    columns: int


@dataclass
class Options:
    folder: str
    limit: int


class Net(LightningModule):
    def training_step(self, batch, batch_idx):
        sample = Sample.of(batch)
        reveal_rank(sample.image)  # revealed: shard
        crop = Crop(scale=2.0, **batch)
        reveal_rank(crop.image)  # revealed: shard
        reveal_rank(crop.scale)  # revealed: same
        sizes = Sizes(**{"rows": 3, "columns": 4})
        reveal_rank(sizes.rows)  # revealed: same
        options = Options(**somebodys(batch))
        reveal_rank(options.folder)  # revealed: unknown
