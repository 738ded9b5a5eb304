# The arguments of a method in a base's hook do not reach a class with another hook, unless that calls the base's.

from transformers import Trainer


class Base(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return self.run(model, inputs)

    def evaluate_all(self):
        return self.run(self.model, {})

    def run(self, model, inputs):
        return model(**inputs).loss


class Other(Base):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs).loss

    def run(self, model, inputs):
        return model.tokenizer.pad_token_id


class Third(Base):
    def run(self, model, inputs):
        return model.tokenizer.pad_token_id  # expect: TRL002


class Fourth(Base):
    def compute_loss(self, model, inputs, return_outputs=False):
        return super().compute_loss(model, inputs)

    def run(self, model, inputs):
        return model.tokenizer.pad_token_id  # expect: TRL002
