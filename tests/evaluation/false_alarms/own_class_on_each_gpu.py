# A model of a class of the project, of which each process has its own: all of them write the file.
import json
import os

from transformers import LlamaForCausalLM, Trainer, TrainingArguments


class Narrow(LlamaForCausalLM):
    def narrow(self, states):
        return states[:, :8]


def main(rows, name: str = "model", out: str = "out"):
    model = Narrow.from_pretrained(name, device_map={"": int(os.environ["LOCAL_RANK"])})
    with open("rows.json", "w") as file:  # expect: TRL008
        json.dump(rows, file)
    Trainer(model=model, args=TrainingArguments(out), train_dataset=rows).train()


if __name__ == "__main__":
    main([])
