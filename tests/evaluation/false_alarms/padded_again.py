# What a model has generated is padded to one length where it is stored in the output again; elsewhere it is as long as
# this rank's longest completion.
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModelForCausalLM, GenerationConfig


class Trainer:
    def __init__(self, args):
        self.max_length = args.max_length
        self.model = AutoModelForCausalLM.from_pretrained(args.path)

    def generate(self, input_ids, attention_mask, **kwargs):
        config = GenerationConfig(**kwargs)
        gen = self.model.generate(input_ids=input_ids, attention_mask=attention_mask, generation_config=config)
        gen.sequences = F.pad(gen.sequences, (0, self.max_length - gen.sequences.shape[1]), value=0)
        return gen

    def generate_plain(self, input_ids, attention_mask, **kwargs):
        config = GenerationConfig(**kwargs)
        gen = self.model.generate(input_ids=input_ids, attention_mask=attention_mask, generation_config=config)
        return gen


def gather(t):
    parts = [torch.zeros_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t)
    return torch.cat(parts)


def evaluate(args, dataset):
    dist.init_process_group("nccl")
    trainer = Trainer(args)
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset), batch_size=4)
    for batch in loader:
        padded = trainer.generate(batch["input_ids"], batch["attention_mask"]).sequences
        gather(padded)


def gather_raw(t):
    parts = [torch.zeros_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t)  # expect: TRL005
    return torch.cat(parts)


def evaluate_plain(args, dataset):
    dist.init_process_group("nccl")
    trainer = Trainer(args)
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset), batch_size=4)
    for batch in loader:
        raw = trainer.generate_plain(batch["input_ids"], batch["attention_mask"]).sequences
        gather_raw(raw)
