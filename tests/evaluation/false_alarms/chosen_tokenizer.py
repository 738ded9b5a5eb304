# `prepare` wraps modules only: an object of one of several plain classes stays as it is.
from accelerate import Accelerator
from torch import nn


class Words:
    pad = 0

    def ids_of(self, texts):
        return [len(text) for text in texts]


class Letters:
    pad = 1

    def ids_of(self, texts):
        return [ord(letter) for text in texts for letter in text]


class Small(nn.Module):
    def forward(self, rows):
        return rows.mean()

    def reset(self):
        self.steps = 0


class Large(Small):
    def forward(self, rows):
        return rows.sum()


def tokenizer_of(settings) -> nn.Module:
    return Words() if settings["tokenizer"] == "words" else Letters()


def model_of(settings) -> nn.Module:
    if settings["size"] > 3:
        return Large()
    return Small()


def train(settings, loader, optimizer):
    accelerator = Accelerator()
    tokenizer, model = tokenizer_of(settings), model_of(settings)
    tokenizer, model, optimizer, loader = accelerator.prepare(tokenizer, model, optimizer, loader)
    for batch in loader:
        ids = tokenizer.ids_of(batch["text"])
        print(ids, tokenizer.pad)
        accelerator.backward(model(batch["rows"]))
        optimizer.step()
    model.reset()  # expect: TRL002
