# A model over all GPUs is trained by one process: nothing here is done twice.
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


def load(name):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto", device_map="auto")
    model.config.use_cache = False
    return model, AutoTokenizer.from_pretrained(name)


def main(name="tiny"):
    model, tokenizer = load(name)
    data = load_dataset("quotes", split="train").map(lambda rows: tokenizer(rows["quote"]), batched=True)
    trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=data)
    trainer.train()
    model.save_pretrained("out")
    tokenizer.save_pretrained("out")


if __name__ == "__main__":
    main()
