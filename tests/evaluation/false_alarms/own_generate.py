"""A project's own `generate` may give all ranks the same shape, whatever the prompt; transformers' does not."""

import torch
from accelerate import Accelerator
from torch import nn
from transformers import AutoModelForCausalLM


class Recommender(nn.Module):
    def __init__(self, items):
        super().__init__()
        self.items = nn.Embedding(items, 16)

    def forward(self, input_ids):
        return self.items(input_ids).mean(dim=1)

    def generate(self, input_ids, steps=4):
        state, chosen = self(input_ids), []
        for _ in range(steps):
            chosen.append((state @ self.items.weight.t()).argmax(dim=-1))
            state = state + self.items(chosen[-1])
        return torch.stack(chosen, dim=1)


class Basket(Recommender):
    """It inherits `generate`, and calls that of its base."""

    def generate(self, input_ids, steps=8):
        return super().generate(input_ids, steps)


class Assistant(nn.Module):
    """It passes on what the library generates."""

    def __init__(self, name):
        super().__init__()
        self.lm = AutoModelForCausalLM.from_pretrained(name)

    def forward(self, input_ids):
        return self.lm(input_ids=input_ids).logits

    def generate(self, input_ids):
        tokens = self.lm.generate(input_ids=input_ids)
        return tokens[:, input_ids.shape[1] :]


class Evaluation:
    def __init__(self, model, accelerator, loader):
        self.accelerator = accelerator
        self.model, self.loader = accelerator.prepare(model, loader)

    @torch.no_grad()
    def run(self):
        hits = 0
        for batch in self.loader:
            found = self.model.module.generate(input_ids=batch["input_ids"])
            found, targets = self.accelerator.gather_for_metrics((found, batch["targets"]))
            hits += (found == targets).all(dim=1).sum().item()
        return hits

    @torch.no_grad()
    def run_unwrapped(self):
        model = self.accelerator.unwrap_model(self.model)
        return [self.accelerator.gather(model.generate(batch["input_ids"])) for batch in self.loader]


def recommend(loader):
    evaluation = Evaluation(Recommender(100), Accelerator(), loader)
    return evaluation.run(), evaluation.run_unwrapped()


@torch.no_grad()
def fill_baskets(loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(Basket(100), loader)
    for batch in loader:
        print(accelerator.gather(accelerator.unwrap_model(model).generate(input_ids=batch["input_ids"])).shape)


@torch.no_grad()
def assist(loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(Assistant("gpt2"), loader)
    for batch in loader:
        tokens = accelerator.unwrap_model(model).generate(input_ids=batch["input_ids"])
        print(accelerator.gather(tokens).shape)  # expect: TRL005


@torch.no_grad()
def continue_texts(loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(AutoModelForCausalLM.from_pretrained("gpt2"), loader)
    for batch in loader:
        tokens = accelerator.unwrap_model(model).generate(input_ids=batch["input_ids"])
        print(accelerator.gather(tokens).shape)  # expect: TRL005
