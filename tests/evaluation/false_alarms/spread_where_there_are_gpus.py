# A model that is spread over all GPUs, where there are any, is trained by one process.
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def load(name):
    device_map = "auto" if torch.cuda.is_available() else None
    return AutoModelForCausalLM.from_pretrained(name, device_map=device_map)


def main(name, rows, out):
    model = load(name)
    Trainer(model=model, args=TrainingArguments(out), train_dataset=rows).train()
    model.save_pretrained(out)


if __name__ == "__main__":
    main("tiny", [], "out")
