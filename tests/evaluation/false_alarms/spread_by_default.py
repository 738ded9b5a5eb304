# A model that is spread over all GPUs by default is trained by one process.
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(name: str = "model", device_map: str = "auto", out: str = "out"):
    model = AutoModelForCausalLM.from_pretrained(name, device_map=device_map)
    rows = load_dataset("rows")["train"].shuffle()
    Trainer(model=model, args=TrainingArguments(out), train_dataset=rows).train()
    model.save_pretrained(out)


if __name__ == "__main__":
    main()
