# The first process of each node alone runs `prepare_data` of Lightning's data modules: what it binds, the others lack.
import lightning as L
import pytorch_lightning as pl
from torch.utils.data import DataLoader


class Rows(pl.LightningDataModule):
    limit = 10

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.known = None

    def prepare_data(self):
        self.rows = load(self.path)
        self.train, self.test = split(self.rows)
        self.known = len(self.rows)
        self.limit = 20
        self.kept = self.count()

    def count(self):
        return len(self.rows)

    def setup(self, stage):
        self.size = len(self.rows)  # expect: TRL017
        self.known, self.limit = self.known, self.limit
        if hasattr(self, "kept"):
            print(self.kept)

    def train_dataloader(self):
        return DataLoader(self.train)  # expect: TRL017


class Module(L.LightningModule):
    def prepare_data(self):
        self.words = load("words.txt")

    def training_step(self, batch, batch_idx):
        return self.net(batch, self.words)  # expect: TRL017


class NoneAtFirst(pl.LightningDataModule):
    def __init__(self):
        super().__init__()
        self.rows = self.kept = None
        self.count = 0

    def prepare_data(self):
        self.rows = self.kept = load("rows.txt")
        self.count = 3

    def setup(self, stage):
        self.first = self.rows[:self.count]  # expect: TRL017
        if self.kept is not None:
            print(self.kept[0])


class Loaded(L.LightningDataModule):
    def prepare_data(self):
        download("rows.txt")

    def setup(self, stage):
        self.rows = load("rows.txt")

    def train_dataloader(self):
        return DataLoader(self.rows)


class Plain:
    def prepare_data(self):
        self.rows = load("rows.txt")

    def setup(self, stage):
        self.size = len(self.rows)
