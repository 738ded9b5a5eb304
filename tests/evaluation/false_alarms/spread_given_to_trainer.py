# A Trainer does not wrap a model whose layers are spread over all GPUs: its hooks get the model itself.
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class Weighted(Trainer):
    def __init__(self, weight, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.weight = weight

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return self.weight * model(**inputs).loss + torch.zeros((), dtype=model.config.torch_dtype)


class Plain(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss + torch.zeros((), dtype=model.config.torch_dtype)  # expect: TRL002


def load(path):
    model = AutoModelForCausalLM.from_pretrained(path, device_map="auto")
    model.config.use_cache = False
    return model, None


def main(path, rows, further):
    settings = TrainingArguments(output_dir="out")
    model, _ = load(path)
    given = {"model": model, "args": settings, "train_dataset": rows, **further}
    Weighted(weight=2.0, **given).train()
    bare = AutoModelForCausalLM.from_pretrained(path)
    Plain(model=bare, args=settings, train_dataset=rows).train()


if __name__ == "__main__":
    main("tiny", [], {})
