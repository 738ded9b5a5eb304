# A model of a class of the project, or of a library, that is spread over all GPUs is trained by one process.
import json

from transformers import AutoModelForCausalLM, LlamaForCausalLM, Trainer, TrainingArguments


class Compressed(LlamaForCausalLM):
    def squeeze(self, states):
        return states[:, ::2]


def main(rows, name: str = "model", compresses: bool = True, out: str = "out"):
    kind = Compressed if compresses else AutoModelForCausalLM
    model = kind.from_pretrained(name, device_map="auto")
    with open("rows.json", "w") as file:
        json.dump(rows, file)
    Trainer(model=model, args=TrainingArguments(out), train_dataset=rows).train()
    model.save_pretrained(out)


if __name__ == "__main__":
    main([])
