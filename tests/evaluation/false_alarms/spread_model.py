# A model that is spread over the GPUs is trained by one process, so that one process saves it.
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def load(name, quantized):
    if quantized:
        return AutoModelForCausalLM.from_pretrained(quantized, device_map="auto")
    return AutoModelForCausalLM.from_pretrained(name, device_map="auto")


def train(name, data, folder):
    model = load(name, None)
    trainer = Trainer(model=model, args=TrainingArguments(output_dir=folder), train_dataset=data)
    trainer.train()
    model.save_pretrained(folder)


if __name__ == "__main__":
    train("tiny", [], "out")
