# Which entry of a dict a method gets is decided by its callers: what one of them is, such as a mean over a rank's own
# number of elements, does not hold for all. But it does if all of them are such means.
import pytorch_lightning as pl
import torch


class Fields(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.outputs = []

    def validation_step(self, batch, batch_idx):
        out = self(batch["x"])
        losses = out - batch["y"]
        mask = batch["mask"]
        self.outputs.append({
            "a": out[0], "b": out[1], "c": out[2], "d": out[3], "e": out[4], "f": out[5], "g": out[6], "h": out[7],
            "losses": losses.mean(dim=1),
            "loss": (losses * mask).sum() / mask.sum(),
        })  # fmt: skip

    def on_validation_epoch_end(self):
        a, b = self.gathered(self.outputs, "a"), self.gathered(self.outputs, "b")
        c, d = self.gathered(self.outputs, "c"), self.gathered(self.outputs, "d")
        e, f = self.gathered(self.outputs, "e"), self.gathered(self.outputs, "f")
        g, h = self.gathered(self.outputs, "g"), self.gathered(self.outputs, "h")
        self.show(a, b, c, d, e, f, g, h)
        self.log("losses", self.gathered(self.outputs, "losses").mean(), rank_zero_only=True)

    def gathered(self, outputs, key):
        own = torch.cat([each[key] for each in outputs], dim=0)
        own = self.all_gather(own).reshape(-1, *own.shape[1:])
        own = own.detach().cpu()
        return own


class Means(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.outputs = []

    def validation_step(self, batch, batch_idx):
        losses = self(batch["x"])
        mask = batch["mask"]
        mean = (losses * mask).sum() / mask.sum()
        self.outputs.append({
            "a": mean, "b": mean, "c": mean, "d": mean, "e": mean, "f": mean, "g": mean, "h": mean, "loss": mean,
        })  # fmt: skip

    def on_validation_epoch_end(self):
        a, b = self.gathered(self.outputs, "a"), self.gathered(self.outputs, "b")
        c, d = self.gathered(self.outputs, "c"), self.gathered(self.outputs, "d")
        e, f = self.gathered(self.outputs, "e"), self.gathered(self.outputs, "f")
        g, h = self.gathered(self.outputs, "g"), self.gathered(self.outputs, "h")
        self.show(a, b, c, d, e, f, g, h)
        self.log("loss", self.gathered(self.outputs, "loss").mean(), rank_zero_only=True)  # expect: TRL007

    def gathered(self, outputs, key):
        own = torch.cat([each[key] for each in outputs], dim=0)
        own = self.all_gather(own).reshape(-1, *own.shape[1:])
        own = own.detach().cpu()
        return own
