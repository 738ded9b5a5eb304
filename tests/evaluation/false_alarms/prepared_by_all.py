# A program that calls `prepare_data` of a data module itself does so on all processes.
import os

import lightning as L


class Rows(L.LightningDataModule):
    def prepare_data(self):
        self.rows = os.listdir("rows")

    def setup(self, stage):
        self.size = len(self.rows)
        os.rmdir("sizes")  # expect: TRL008


def main():
    rows = Rows()
    rows.prepare_data()
    rows.setup("fit")
    print(rows.size)
