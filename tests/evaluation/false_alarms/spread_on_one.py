# One on each GPU where there are several processes.
import os

from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(name: str = "model", device_map: str = "auto", out: str = "out"):
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        device_map = {"": int(os.environ["LOCAL_RANK"])}
    model = AutoModelForCausalLM.from_pretrained(name, device_map=device_map)
    rows = load_dataset("rows")["train"].shuffle()  # expect: TRL015
    Trainer(model=model, args=TrainingArguments(out), train_dataset=rows).train()
    model.save_pretrained(out)  # expect: TRL008


if __name__ == "__main__":
    main()
