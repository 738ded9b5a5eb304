"""A Trainer's model gathers the features of all ranks, so that its loss is the same on all of them."""

import torch
import torch.distributed as dist
from loading import load_rows, load_settings
from transformers import Trainer, TrainingArguments


def everyone(features):
    parts = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, features.contiguous())
    return torch.cat(parts, dim=0)


class Pairs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 8)

    @classmethod
    def from_settings(cls, settings):
        model = cls()
        model.temperature = settings.temperature
        return model

    def forward(self, queries, passages):
        scores = everyone(self.net(queries)) @ everyone(self.net(passages)).T
        loss = torch.nn.functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))
        return {"loss": loss, "dense": loss.detach()}


class Alone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 8)

    def forward(self, queries, passages):
        loss = (self.net(queries) * self.net(passages)).mean()
        return {"loss": loss, "dense": loss.detach()}


class PairTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        self.parts = model(**inputs)
        return (self.parts["loss"], self.parts) if return_outputs else self.parts["loss"]

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss, parts = self.compute_loss(model, self._prepare_inputs(inputs), return_outputs=True)
        self.parts = parts
        loss = loss.mean()
        if not torch.isfinite(loss):
            return loss.new_zeros(())
        self.accelerator.backward(loss)
        return loss.detach()

    def log(self, logs, start_time=None):
        logs["dense"] = self.parts["dense"].item()
        super().log(logs, start_time)


class AloneTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        parts = model(**self._prepare_inputs(inputs))
        self.parts, loss = parts, parts["loss"]
        if not torch.isfinite(loss):
            return loss.new_zeros(())  # expect: TRL006
        self.accelerator.backward(loss)
        return loss.detach()

    def log(self, logs, start_time=None):
        logs["dense"] = self.parts["dense"].item()  # expect: TRL003
        super().log(logs, start_time)


def main(settings, rows):
    args = TrainingArguments("out")
    PairTrainer(model=Pairs.from_settings(settings), args=args, train_dataset=rows).train()
    AloneTrainer(model=Alone(), args=args, train_dataset=rows).train()


if __name__ == "__main__":
    main(load_settings(), load_rows())
