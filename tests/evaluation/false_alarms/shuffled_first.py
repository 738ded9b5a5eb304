# Each rank shuffles differently: the missing seed is to be reported, not the order of the ranks.
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def shuffled(args: TrainingArguments, tokenizer):
    dataset = load_dataset("quotes", split="train").shuffle()
    dataset = dataset.map(lambda rows: tokenizer(rows["quote"]), batched=True)
    Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=dataset).train()


def split(args: TrainingArguments, tokenizer):
    parts = load_dataset("quotes", split="train").train_test_split(0.1)
    tokenized = parts["train"].map(lambda rows: tokenizer(rows["quote"]), batched=True)
    Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=tokenized).train()
