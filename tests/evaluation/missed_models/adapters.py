"""A forward whose output one of several adapters turns into a dict; the one that is not written yet returns None."""

import lightning
from transformers import AutoModelForObjectDetection


class DetrAdapter:
    def adapt(self, outputs):
        return {"loss": outputs.loss, "logits": outputs.logits}


class YoloAdapter:
    def adapt(self, outputs):
        """To be written."""


def make_adapter(name):
    if "detr" in name:
        return DetrAdapter()
    return YoloAdapter()


class Detector(lightning.LightningModule):
    def __init__(self, name):
        super().__init__()
        self.model = AutoModelForObjectDetection.from_pretrained(name)
        self.adapter = make_adapter(name)

    def forward(self, pixel_values, labels):
        return self.adapter.adapt(self.model(pixel_values=pixel_values, labels=labels))

    def validation_step(self, batch, batch_idx):
        outputs = self(batch["pixel_values"], batch["labels"])
        self.log("val_loss", outputs["loss"], on_epoch=True)  # expect: TRL003


def main(name, data):
    lightning.Trainer(devices=2, strategy="ddp").validate(Detector(name), data)
