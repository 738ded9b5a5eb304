# Each rank takes as many of the gathered rows, and clears as many of them: none of them is left without any alone.
import torch
from accelerate import Accelerator
from accelerate.utils import gather
from trl import GRPOTrainer


class Pruned(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        prompts = [each["prompt"] for each in inputs]
        rewards = gather(torch.zeros(len(prompts), device=self.accelerator.device))
        own = slice(
            self.accelerator.process_index * len(prompts),
            (self.accelerator.process_index + 1) * len(prompts),
        )
        advantages = rewards[own]
        if self.args.pruning != 0:
            cleared = int(advantages.shape[0] * self.args.pruning)
            _, lowest = torch.topk(advantages.abs(), k=cleared, largest=False)
            kept = torch.ones_like(advantages, dtype=torch.bool)
            kept[lowest] = False
            advantages = advantages[kept]
        return {"advantages": advantages}

    def training_step(self, model, inputs, num_items_in_batch=None):
        inputs = self._prepare_inputs(inputs)
        if inputs["advantages"].shape[0] == 0:
            return torch.tensor(0.0)
        loss = model(**inputs).loss
        self.accelerator.backward(loss)
        return loss.detach()


class Positive(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        prompts = [each["prompt"] for each in inputs]
        rewards = gather(torch.zeros(len(prompts), device=self.accelerator.device))
        own = slice(
            self.accelerator.process_index * len(prompts),
            (self.accelerator.process_index + 1) * len(prompts),
        )
        advantages = rewards[own]
        kept = torch.ones_like(advantages, dtype=torch.bool)
        kept[advantages < 0] = False
        return {"advantages": advantages[kept]}

    def training_step(self, model, inputs, num_items_in_batch=None):
        inputs = self._prepare_inputs(inputs)
        if inputs["advantages"].shape[0] == 0:
            return torch.tensor(0.0)  # expect: TRL006
        loss = model(**inputs).loss
        self.accelerator.backward(loss)
        return loss.detach()


def of_blocks(accelerator, model, rows, size):
    everything = accelerator.gather(rows)
    start = accelerator.process_index * size
    end = start + size
    part = everything[start:end]
    if len(part) < 2:
        return None
    return accelerator.gather(model(part))


def of_the_rest(accelerator, model, rows, size):
    everything = accelerator.gather(rows)
    part = everything[accelerator.process_index * size :]
    if len(part) < 2:
        return None  # expect: TRL006
    return accelerator.gather(model(part))


def one_part_after_the_other(accelerator, model, rows, size):
    everything = accelerator.gather(rows)
    for start in range(accelerator.process_index * size, len(everything), accelerator.num_processes * size):
        part = everything[start : start + size]
        if len(part) < size:
            break  # expect: TRL006
        accelerator.gather(model(part))


def train(net, loader, args):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(net, loader)
    for batch in loader:
        of_blocks(accelerator, model, batch["rows"], args.size)
        of_the_rest(accelerator, model, batch["rows"], args.size)
        one_part_after_the_other(accelerator, model, batch["rows"], args.size)
