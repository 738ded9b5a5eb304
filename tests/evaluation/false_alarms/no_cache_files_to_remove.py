# Nothing in this program leaves cache files beside those that a data set is read from: there are none to remove.
import shutil

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


def collate(rows):
    return tokenizer([each["text"] for each in rows], return_tensors="pt", padding=True)


args = TrainingArguments("out")
tokenizer = AutoTokenizer.from_pretrained("gpt2")
dataset = load_dataset("imdb", split="train")
dataset.cleanup_cache_files()
shutil.rmtree(args.output_dir)  # expect: TRL008
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model, args, data_collator=collate, train_dataset=dataset).train()
