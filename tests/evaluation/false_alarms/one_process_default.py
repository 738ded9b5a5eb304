# By default, the model is loaded onto all GPUs of one process, whatever else a caller may pass.
import sys

from options import OPTIONS
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def load(name, device_map="auto"):
    return AutoModelForCausalLM.from_pretrained(name, device_map=device_map)


def main(name):
    trainer = Trainer(model=load(name, **OPTIONS), args=TrainingArguments("out"))
    trainer.train()
    with open("done.txt", "w") as file:
        file.write(name)


main(sys.argv[1])
