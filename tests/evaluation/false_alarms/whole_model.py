# The neighbour of `spread_model.py`: each process has its own model, and all write it to one place.
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def train(name, data, folder):
    model = AutoModelForCausalLM.from_pretrained(name)
    trainer = Trainer(model=model, args=TrainingArguments(output_dir=folder), train_dataset=data)
    trainer.train()
    model.save_pretrained(folder)  # expect: TRL008


if __name__ == "__main__":
    train("tiny", [], "out")
