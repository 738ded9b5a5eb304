# Each process makes a data module of Lightning, and the parts that it is given, with the same settings.
from pathlib import Path

import lightning as L


class Splitter:
    def __init__(self, folder: str = None, split_type: str = "random", similarity: float = 0.5, rank_folder: str = None):
        self.folder, self.split_type, self.similarity = folder, split_type, similarity
        self.rank_folder = rank_folder

    def split(self, rows):
        if self.split_type == "random":
            return rows
        with open(Path(self.folder) / f"clusters_{self.similarity}.txt", "w") as file:  # expect: TRL008
            file.write(str(rows))
        with open(Path(self.rank_folder) / "clusters.txt", "w") as file:
            file.write(str(rows))
        return rows


class Data(L.LightningDataModule):
    def __init__(self, root: str = "data", splitter: Splitter | None = None, rank: int = 0):
        super().__init__()
        self.root, self.splitter, self.rank = Path(root), splitter, rank

    def prepare_data(self):
        (self.root / "raw.txt").write_text("raw")

    def setup(self, stage=None):
        (self.root / "rows.txt").write_text("rows")  # expect: TRL008
        (self.root / f"rows_{self.rank}.txt").write_text("rows")
        self.train = self.splitter.split([1, 2, 3])
