# What a program draws of an object that it makes says nothing of those that a data module makes of the same class,
# unless one of these is drawn, too.
import random

from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, path):
        self.rows = []
        with open(path) as lines:
            for line in lines:
                self.rows.append(line.strip())

    def mix(self):
        random.shuffle(self.rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class MixedRows(Dataset):
    def __init__(self, path):
        self.rows = []
        with open(path) as lines:
            for line in lines:
                self.rows.append(line.strip())

    def shuffle(self):
        random.shuffle(self.rows)  # expect: TRL015

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def make(path):
    made = MixedRows(path)
    made.shuffle()
    return made


class Data(LightningDataModule):
    def __init__(self, path):
        super().__init__()
        self.rows = Rows(path)
        self.mixed = make(path)

    def val_dataloader(self):
        return [DataLoader(self.rows, batch_size=4), DataLoader(self.mixed, batch_size=4)]


if __name__ == "__main__":
    rows = Rows("train.txt")
    rows.mix()
    mixed = MixedRows("train.txt")
    mixed.shuffle()
