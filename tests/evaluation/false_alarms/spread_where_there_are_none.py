# Whether there are GPUs is asked for, and the model is not spread over them: each process has it on its own.
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def load(name):
    device_map = None if torch.cuda.is_available() else "auto"
    return AutoModelForCausalLM.from_pretrained(name, device_map=device_map)


def main(name, rows, out):
    model = load(name)
    Trainer(model=model, args=TrainingArguments(out), train_dataset=rows).train()
    model.save_pretrained(out)  # expect: TRL008


if __name__ == "__main__":
    main("tiny", [], "out")
