# What each rank takes for itself is there on all ranks, or None on all, if what decides that is the same for all.
import torch.distributed as dist
from transformers import Trainer


class InParts(Trainer):
    def own_part(self, inputs):
        chunks = inputs["input_ids"].chunk(dist.get_world_size())
        start = sum(len(chunk) for chunk in chunks[: dist.get_rank()])
        return {"input_ids": chunks[dist.get_rank()], "start": start}

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        outputs = model(**self.own_part(inputs))
        if isinstance(outputs, dict):
            logits = tuple(each for name, each in outputs.items() if name not in ignore_keys)
        else:
            logits = outputs[1:]
        if prediction_loss_only:
            return outputs["loss"], None
        if len(logits) == 1:
            logits = logits[0]
        return outputs["loss"], logits

    def evaluation_loop(self, dataloader, description, prediction_loss_only=None, ignore_keys=None):
        for inputs in dataloader:
            _, logits = self.prediction_step(self.model, inputs, prediction_loss_only, ignore_keys=ignore_keys)
            if logits is not None:
                self.accelerator.gather(logits)


def part_or_none(args, parts, accelerator):
    part = parts[dist.get_rank()] if args.in_parts else None
    if part is not None:
        accelerator.gather(part)


def part_of_every_other(parts, accelerator):
    part = parts[dist.get_rank()] if dist.get_rank() % 2 == 0 else None
    if part is not None:
        accelerator.gather(part)  # expect: TRL006


def part_of_every_other_by_branch(parts, accelerator):
    part = None
    if dist.get_rank() % 2 == 0:
        part = parts[dist.get_rank()]
    if part is None:
        return  # expect: TRL006
    accelerator.gather(part)
