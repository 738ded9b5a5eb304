"""Trainer that counts the tokens it has seen, with gradient accumulation."""

import argparse
import random

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

PAD = 0


def make_rows(count, vocab_size, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        start = rng.randint(1, vocab_size - 1)
        rows.append({"input_ids": [1 + (start + i) % (vocab_size - 1) for i in range(rng.randint(3, 18))]})
    return rows


class PaddingCollator:
    def __call__(self, rows):
        length = max(len(row["input_ids"]) for row in rows)
        batch = {"input_ids": [], "attention_mask": [], "labels": []}
        for row in rows:
            ids, missing = row["input_ids"], length - len(row["input_ids"])
            batch["input_ids"].append(ids + [PAD] * missing)
            batch["attention_mask"].append([1] * len(ids) + [0] * missing)
            batch["labels"].append(ids + [-100] * missing)
        return {name: torch.tensor(values) for name, values in batch.items()}


class TokenCountTrainer(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.num_tokens = 0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        tokens = self.accelerator.gather_for_metrics(inputs["attention_mask"].sum())
        self.num_tokens += tokens.sum().item()
        return super().compute_loss(model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch)

    def log(self, logs, start_time=None):
        logs["num_tokens"] = self.num_tokens
        super().log(logs, start_time)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_rows", type=int, default=41)
    parser.add_argument("--vocab_size", type=int, default=36)
    parser.add_argument("--batch_size", type=int, default=2)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=3)
    parser.add_argument("--num_train_epochs", type=int, default=2)
    parser.add_argument("--output_dir", default="token_count")
    parser.add_argument("--seed", type=int, default=100)
    return parser.parse_args()


def main():
    args = parse_args()
    set_seed(args.seed)
    config = LlamaConfig(
        vocab_size=args.vocab_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=32,
        pad_token_id=PAD,
    )
    trainer = TokenCountTrainer(
        model=LlamaForCausalLM(config),
        args=TrainingArguments(
            output_dir=args.output_dir,
            per_device_train_batch_size=args.batch_size,
            gradient_accumulation_steps=args.gradient_accumulation_steps,
            num_train_epochs=args.num_train_epochs,
            learning_rate=2e-3,
            logging_steps=1,
            save_strategy="no",
            seed=args.seed,
            report_to="none",
        ),
        train_dataset=make_rows(args.num_rows, args.vocab_size, args.seed),
        data_collator=PaddingCollator(),
    )
    trainer.train()


if __name__ == "__main__":
    main()
