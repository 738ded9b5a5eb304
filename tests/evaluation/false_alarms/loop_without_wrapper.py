# Only the loop of the library wraps the model: a class with a loop of its own that hands on `self.model` gets it bare.
# But not if the loop of the library runs as well, or if it is not known what the own one hands on.
from transformers import Trainer


class WithOwnLoop(Trainer):
    def train(self):
        model = self.model
        for batch in self.train_dataset:
            self.training_step(model, batch)

    def training_step(self, model, inputs):
        model.layers[0].cached = None
        return 0


class WithLoop(Trainer):
    def train(self):
        super().train()
        for batch in self.train_dataset:
            self.training_step(self.model, batch)

    def training_step(self, model, inputs):
        model.layers[0].cached = None  # expect: TRL002
        return 0


class WithCopiedLoop(Trainer):
    def train(self):
        model = self._wrap_model(self.model_wrapped)
        for batch in self.train_dataset:
            self.training_step(model, batch)

    def training_step(self, model, inputs):
        model.layers[0].cached = None  # expect: TRL002
        return 0
