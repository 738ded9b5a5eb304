# How many rows a batch has is the same on all ranks of Lightning; how many of them pass a test, or all so far, is not.
import lightning.pytorch as pl
from torch import nn, optim
from torch.utils.data import DataLoader


class Task(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
        self.seen = 0

    def training_step(self, batch, index):
        return self.net(batch["rows"]).mean()

    def validation_step(self, batch, index):
        rows, labels = batch["rows"], batch["labels"]
        count = rows.size(0)
        kept = rows[labels > 0]
        self.seen += count
        self.log("batch_size", len(batch["labels"]))
        self.log("rows", float(count), prog_bar=True)
        self.log_dict({"images": rows.shape[0], "loss": self.net(rows).mean()})  # expect: TRL003
        self.log("kept", len(kept))  # expect: TRL003
        self.log("positive", kept.shape[0])  # expect: TRL003
        self.log("seen", self.seen)  # expect: TRL003
        self.log("tokens", rows.size(1))  # expect: TRL003

    def configure_optimizers(self):
        return optim.SGD(self.parameters(), lr=0.1)


def main(train, validation):
    trainer = pl.Trainer(strategy="ddp", devices=2)
    trainer.fit(Task(), DataLoader(train, batch_size=8), DataLoader(validation, batch_size=8))
