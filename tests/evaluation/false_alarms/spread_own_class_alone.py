# The class of a model is one of the project, and the model is spread over all GPUs: one process.
import json

from transformers import LlamaForCausalLM, Trainer, TrainingArguments


class Narrow(LlamaForCausalLM):
    def narrow(self, states):
        return states[:, :8]


def main(rows, name: str = "model", out: str = "out"):
    model = Narrow.from_pretrained(name, device_map="auto")
    with open("rows.json", "w") as file:
        json.dump(rows, file)
    Trainer(model=model, args=TrainingArguments(out), train_dataset=rows).train()


if __name__ == "__main__":
    main([])
