# What one process makes in `prepare_data` exists by the time that all of them look for it in `setup`.
import json
import os

import pytorch_lightning as pl


def rows_of(path):
    name = os.path.join(path, "rows.json")
    if not os.path.isfile(name):
        with open(name, "w") as file:
            json.dump({"rows": 1}, file)
    with open(name) as file:
        return json.load(file)


def write_labels(path, labels):
    with open(os.path.join(path, "labels.json"), "w") as file:
        json.dump(labels, file)


def labels_of(path):
    if os.path.isdir(path):
        print("found")
    else:
        write_labels(path, {"labels": 2})


def sizes_of(path):
    name = os.path.join(path, "sizes.json")
    if not os.path.isfile(name):
        with open(name, "w") as file:  # expect: TRL008
            json.dump({"sizes": 3}, file)


def log_of(path):
    with open(os.path.join(path, "log.json"), "w") as file:  # expect: TRL008
        json.dump({"log": 4}, file)


class Rows(pl.LightningDataModule):
    def prepare_data(self):
        rows_of("/rows")
        labels_of("/rows/labels")
        log_of("/rows")

    def setup(self, stage=None):
        self.rows = rows_of("/rows")
        labels_of("/rows/labels")
        sizes_of("/rows")
        log_of("/rows")


if __name__ == "__main__":
    pl.Trainer(devices=2, strategy="ddp").fit(None, Rows())
