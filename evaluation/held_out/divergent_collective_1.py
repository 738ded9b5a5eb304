"""Sequence classification with Trainer; the evaluation at the end goes to a JSON file."""

import argparse
import json
import os

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class ParityDataset(torch.utils.data.Dataset):
    """The label tells whether the marker token comes an odd number of times."""

    marker = 5

    def __init__(self, size, seed):
        rng = np.random.default_rng(seed)
        self.ids = rng.integers(3, 12, size=(size, 10))
        self.labels = (self.ids == self.marker).sum(axis=1) % 2

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": torch.from_numpy(self.ids[index]), "labels": int(self.labels[index])}


def accuracy(eval_prediction):
    predictions = eval_prediction.predictions.argmax(axis=-1)
    return {"accuracy": float((predictions == eval_prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", default="parity")
    parser.add_argument("--train_size", type=int, default=70)
    parser.add_argument("--eval_size", type=int, default=27)
    parser.add_argument("--num_train_epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    set_seed(args.seed)
    config = BertConfig(
        vocab_size=12,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=16,
        num_labels=2,
    )
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=TrainingArguments(
            output_dir=args.output_dir,
            per_device_train_batch_size=8,
            per_device_eval_batch_size=8,
            num_train_epochs=args.num_train_epochs,
            learning_rate=1e-3,
            logging_steps=3,
            save_strategy="no",
            seed=args.seed,
            report_to="none",
        ),
        train_dataset=ParityDataset(args.train_size, args.seed),
        eval_dataset=ParityDataset(args.eval_size, args.seed + 1),
        compute_metrics=accuracy,
    )
    trainer.train()
    trainer.save_model()

    if trainer.is_world_process_zero():
        results = trainer.evaluate()
        path = os.path.join(args.output_dir, "final_results.json")
        with open(path, "w") as file:
            json.dump(results, file, indent=2)
        print(f"accuracy {results['eval_accuracy']:.3f}, written to {path}")


if __name__ == "__main__":
    main()
