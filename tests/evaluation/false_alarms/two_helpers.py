# A class has a helper that runs the wrapper, and one that runs the inner model: the loss is computed from both.
from accelerate import Accelerator
from transformers import AutoModel


class Both:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.inner = self.accelerator.unwrap_model(self.model)

    def forward_all(self, batch):
        return self.model(batch)

    def forward_inner(self, batch):
        return self.inner(batch)

    def step(self, batch):
        loss = self.forward_all(batch).loss
        if self.accelerator.mixed_precision:
            extra = self.forward_inner(batch)
            loss = loss + extra.loss
        self.accelerator.backward(loss)


class Inner:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.inner = self.accelerator.unwrap_model(self.model)

    def forward_inner(self, batch):
        return self.inner(batch)  # expect: TRL009

    def step(self, batch):
        self.accelerator.backward(self.forward_inner(batch).loss)


def main(model, batch):
    Both(model).step(batch)
    Inner(model).step(batch)


main(AutoModel.from_pretrained("x"), 1)
