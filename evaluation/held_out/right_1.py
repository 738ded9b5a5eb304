"""Text classification with Accelerate: evaluation after each epoch, and the best model is kept."""

import argparse
import json
import os
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_cosine_schedule_with_warmup

VOCAB_SIZE = 50


def make_dataset(count, seed):
    """The label tells which third of the vocabulary the first token comes from."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(count):
        length = int(torch.randint(4, 15, (1,), generator=generator))
        ids = torch.randint(2, VOCAB_SIZE, (length,), generator=generator).tolist()
        rows.append({"input_ids": ids, "label": ids[0] * 3 // VOCAB_SIZE})
    return Dataset.from_list(rows)


def collate(rows):
    length = max(len(row["input_ids"]) for row in rows)
    ids = torch.tensor([row["input_ids"] + [0] * (length - len(row["input_ids"])) for row in rows])
    return {
        "input_ids": ids,
        "attention_mask": (ids != 0).long(),
        "labels": torch.tensor([row["label"] for row in rows]),
    }


def evaluate(model, loader, accelerator):
    model.eval()
    right, total = 0, 0
    for batch in loader:
        with torch.no_grad():
            logits = model(**batch).logits
        predictions, labels = accelerator.gather_for_metrics((logits.argmax(dim=-1), batch["labels"]))
        right += (predictions == labels).sum().item()
        total += labels.size(0)
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", default="best_classifier")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=6)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)
    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)
    accelerator.wait_for_everyone()

    train_loader = DataLoader(make_dataset(85, 0), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    eval_loader = DataLoader(make_dataset(31, 1), batch_size=args.batch_size, collate_fn=collate)
    config = BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=16,
        num_labels=3,
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 3, args.epochs * len(train_loader))

    best_accuracy, history = 0.0, []
    for epoch in range(args.epochs):
        model.train()
        start = time.time()
        losses = []
        for batch in train_loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()).mean().item())
        seconds = time.time() - start

        accuracy = evaluate(model, eval_loader, accelerator)
        history.append({"epoch": epoch, "loss": sum(losses) / len(losses), "accuracy": accuracy, "seconds": seconds})
        accelerator.print(history[-1])
        if accuracy > best_accuracy:
            best_accuracy = accuracy
            accelerator.wait_for_everyone()
            accelerator.unwrap_model(model).save_pretrained(
                args.output_dir, is_main_process=accelerator.is_main_process, save_function=accelerator.save
            )

    if accelerator.is_main_process:
        with open(os.path.join(args.output_dir, "history.json"), "w") as file:
            json.dump(history, file, indent=2)


if __name__ == "__main__":
    main()
