# Rank 0 prints one message or the other, and no other rank prints any: the dataset is that of all ranks.
import torch.distributed as dist
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def show(dataset):
    print(dataset[0])


def by_flag(args: TrainingArguments, verbose):
    dataset = load_dataset("quotes")["train"]
    main = args.process_index == 0
    if main and verbose:
        show(dataset)
    elif main:
        print(len(dataset))
    Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=dataset).train()


def by_rank(args: TrainingArguments, source):
    dataset = load_dataset("quotes", split="train")
    if dist.get_rank() == 0 and source is not None:
        shown = dataset.select(range(4))
        show(shown)
    elif dist.get_rank() == 0:
        shown = dataset.shuffle(seed=3)
        show(shown)
    trainer = Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=dataset)
    trainer.train()


def of_main_alone(args: TrainingArguments):
    dataset = load_dataset("quotes", split="train")
    if args.process_index == 0:  # expect: TRL006
        dataset = dataset.filter(lambda row: row["quote"])
    trainer = Trainer(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=dataset)
    trainer.train()
