# The main process packs the rows and saves them; after a barrier the others, which have none yet, load the same rows.
import os

from accelerate import Accelerator
from datasets import load_dataset, load_from_disk
from transformers import Trainer

accelerator = Accelerator()


def packed(rows, pack, folder):
    if os.path.exists(folder):
        accelerator.wait_for_everyone()
        found = load_from_disk(folder)
    else:
        if accelerator.is_main_process:
            found = rows.map(pack, batched=True)
            found.save_to_disk(folder)
        accelerator.wait_for_everyone()
        if not accelerator.is_main_process:
            found = load_from_disk(folder)
    return found


def train(model, args, pack, folder):
    rows = load_dataset("json", data_files="train.jsonl", split="train")
    if accelerator.is_main_process:
        found = rows.map(pack, batched=True)
        found.save_to_disk(folder)
    accelerator.wait_for_everyone()
    if not accelerator.is_main_process:
        found = load_from_disk(folder)
    Trainer(model=model, args=args, train_dataset=found).train()
    Trainer(model=model, args=args, train_dataset=packed(rows, pack, folder)).train()


def train_on_raw(model, args, pack):
    rows = load_dataset("json", data_files="train.jsonl", split="train")
    if accelerator.is_main_process:  # expect: TRL006
        rows = rows.map(pack, batched=True)
    accelerator.wait_for_everyone()
    Trainer(model=model, args=args, train_dataset=rows).train()
