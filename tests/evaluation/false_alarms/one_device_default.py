# By default, the model is loaded onto one device, as on each of several processes.
import sys

from options import OPTIONS
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def load(name, device_map="cpu"):
    return AutoModelForCausalLM.from_pretrained(name, device_map=device_map)


def main(name):
    trainer = Trainer(model=load(name, **OPTIONS), args=TrainingArguments("out"))
    trainer.train()
    with open("done.txt", "w") as file:  # expect: TRL008
        file.write(name)


main(sys.argv[1])
