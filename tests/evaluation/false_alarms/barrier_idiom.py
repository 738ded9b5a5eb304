# Rank 0 maps first, while the others wait for it.
import torch.distributed as dist
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def mapped(args: TrainingArguments, tokenizer):
    dataset = load_dataset("quotes", split="train")
    if args.local_rank > 0:
        print("waiting for the main process to map")
        dist.barrier()
    dataset = dataset.map(lambda rows: tokenizer(rows["quote"]), batched=True)
    if args.local_rank == 0:
        print("the main process has mapped")
        dist.barrier()
    Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=dataset).train()


def filtered(args: TrainingArguments):
    rank = dist.get_rank()
    dataset = load_dataset("quotes", split="train")
    if rank != 0:
        dist.barrier()
    dataset = dataset.filter(lambda row: len(row["quote"]) > 3)
    if not rank:
        dist.barrier()
    Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=dataset).train()


def by_all(args: TrainingArguments):
    dataset = load_dataset("quotes", split="train")
    dataset = dataset.map(lambda row: {"length": len(row["quote"])})  # expect: TRL012
    Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=dataset).train()
