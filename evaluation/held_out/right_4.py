"""Masked token classification with Trainer: gradient accumulation, a subclass with a weighted loss, compute_metrics."""

import time
from dataclasses import dataclass, field

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import (
    BertConfig,
    BertForTokenClassification,
    DataCollatorForTokenClassification,
    HfArgumentParser,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

WORDS = ["[PAD]", "[UNK]", "ann", "bob", "eve", "walks", "talks", "to", "with", "and", "the", "old", "dog"]
NAMES = {2, 3, 4}


@dataclass
class DataArguments:
    train_size: int = field(default=64)
    eval_size: int = field(default=23)
    name_weight: float = field(default=2.0, metadata={"help": "weight of names in the loss"})


def make_rows(count, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        ids = rng.integers(2, len(WORDS), size=rng.integers(4, 14)).tolist()
        labels = [1 if i in NAMES else 0 for i in ids]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels})
    return rows


def make_tokenizer():
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


class WeightedTrainer(Trainer):
    def __init__(self, *args, name_weight, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = torch.tensor([1.0, name_weight], device=self.args.device)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        loss = nn.functional.cross_entropy(
            outputs.logits.flatten(0, 1), labels.flatten(), weight=self.class_weights, ignore_index=-100
        )
        return (loss, outputs) if return_outputs else loss


class ClockCallback(TrainerCallback):
    """Prints how long each epoch took."""

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.start = time.perf_counter()

    def on_epoch_end(self, args, state, control, **kwargs):
        seconds = time.perf_counter() - self.start
        print(f"process {args.process_index}: epoch of {seconds:.2f} s")


def compute_metrics(eval_prediction):
    predictions = eval_prediction.predictions.argmax(axis=-1)
    labels = eval_prediction.label_ids
    known = labels != -100
    return {"accuracy": float((predictions == labels)[known].mean())}


def main():
    parser = HfArgumentParser((DataArguments, TrainingArguments))
    # Fewer steps than the default of logging_steps: only the summary at the end is logged
    parser.set_defaults(
        output_dir="names",
        num_train_epochs=2,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=2e-3,
        eval_strategy="epoch",
        save_strategy="no",
        report_to=["none"],
    )
    data_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=16,
        num_labels=2,
    )
    trainer = WeightedTrainer(
        model=BertForTokenClassification(config),
        args=training_args,
        train_dataset=make_rows(data_args.train_size, 0),
        eval_dataset=make_rows(data_args.eval_size, 1),
        data_collator=DataCollatorForTokenClassification(make_tokenizer()),
        compute_metrics=compute_metrics,
        callbacks=[ClockCallback()],
        name_weight=data_args.name_weight,
    )
    trainer.train()
    trainer.save_model()
    trainer.save_state()


if __name__ == "__main__":
    main()
