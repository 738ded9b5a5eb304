# What a module of Lightning saves as its hyperparameters are settings, the same on all ranks, of whatever type.
from pathlib import Path

import lightning as L
import torch
from readers import read


class Saved(L.LightningDataModule):
    def __init__(self, root, sizes):
        super().__init__()
        self.save_hyperparameters()
        self.root, self.sizes = Path(root), sizes

    def setup(self, stage=None):
        self.rows = read(self.root / "rows.json")
        torch.save(self.sizes, self.root / "sizes.pt")  # expect: TRL008


class SavedByName(L.LightningDataModule):
    def __init__(self, root, own):
        super().__init__()
        self.save_hyperparameters("root")
        self.root, self.own = root, own

    def setup(self, stage=None):
        torch.save({}, f"{self.root}/sizes.pt")  # expect: TRL008
        torch.save({}, f"{self.own}/sizes.pt")


class Ignored(L.LightningDataModule):
    def __init__(self, root, name_of):
        super().__init__()
        self.save_hyperparameters(ignore=["root"])
        self.root, self.name_of = root, name_of

    def setup(self, stage=None):
        torch.save({}, f"{self.root}/sizes.pt")
        torch.save({}, self.name_of("sizes"))


class Unsaved(L.LightningDataModule):
    def __init__(self, root):
        super().__init__()
        self.root = root

    def setup(self, stage=None):
        torch.save({}, f"{self.root}/sizes.pt")
