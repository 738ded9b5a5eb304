"""Sequence tagging with an LSTM and Accelerate. Sentences differ in length, padding has no label."""

import argparse
import json
import random

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

IGNORE = -100


class Tagger(nn.Module):
    def __init__(self, vocab_size, num_tags, width=24):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, width)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(2 * width, num_tags)

    def forward(self, ids):
        states, _ = self.lstm(self.embedding(ids))
        return self.classifier(self.dropout(states))


def make_sentences(count, seed):
    rng = random.Random(seed)
    sentences = []
    for _ in range(count):
        ids = [rng.randint(1, 29) for _ in range(rng.choice([3, 4, 6, 20, 28]))]
        # The tag depends on the word and on the one before it
        tags = [(a + b) % 3 for a, b in zip([0, *ids[:-1]], ids, strict=True)]
        sentences.append((ids, tags))
    return sentences


def collate(batch):
    ids = pad_sequence([torch.tensor(ids) for ids, _ in batch], batch_first=True)
    tags = pad_sequence([torch.tensor(tags) for _, tags in batch], batch_first=True, padding_value=IGNORE)
    return ids, tags


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", default="tagger_history.json")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=2024)
    args = parser.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)
    model = Tagger(vocab_size=30, num_tags=3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(make_sentences(48, args.seed), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    history = []
    for epoch in range(args.epochs):
        for step, (ids, tags) in enumerate(loader):
            logits = model(ids)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORE)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

            labelled = tags != IGNORE
            right = (logits.argmax(dim=-1) == tags) & labelled
            accuracy = right.sum() / labelled.sum()
            accuracy = accelerator.reduce(accuracy, reduction="mean")
            history.append({"epoch": epoch, "step": step, "accuracy": accuracy.item()})
            accelerator.print(f"epoch {epoch} step {step}: accuracy per tag {accuracy.item():.4f}")

    if accelerator.is_main_process:
        with open(args.history, "w") as file:
            json.dump(history, file)


if __name__ == "__main__":
    main()
