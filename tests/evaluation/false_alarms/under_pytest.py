# named: test_training.py
# pytest runs a test in one process.
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


class TestTraining:
    def test_training(self, tmp_path):
        tokenizer = AutoTokenizer.from_pretrained("tiny")
        data = load_dataset("quotes").map(lambda rows: tokenizer(rows["quote"]), batched=True)
        model = AutoModelForCausalLM.from_pretrained("tiny")
        trainer = Trainer(model=model, args=TrainingArguments(output_dir=tmp_path), train_dataset=data["train"])
        trainer.train()
