# A module of Lightning whose forward is out of sight: what it gives for a batch of this rank is this rank's own.
import pytorch_lightning as pl


class Classifier(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return self(**batch)[0]

    def validation_step(self, batch, batch_idx):
        loss, score = self(**batch)[:2]
        self.log("val_score", score)  # expect: TRL003
        self.log("val_size", self.size(batch))
        return loss


class Helper:
    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self(**batch)[0])


def train(model):
    pl.Trainer(devices=2, strategy="ddp").fit(model)
