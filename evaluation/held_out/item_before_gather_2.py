"""Trains a small BERT to tell which half of the vocabulary a sentence is drawn from."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup


class HalvesDataset(Dataset):
    """Sentences of random tokens; the label says which half of the vocabulary they mostly come from."""

    def __init__(self, size, length, vocab_size, seed):
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 2, (size,), generator=generator)
        half = vocab_size // 2
        tokens = torch.randint(1, half, (size, length), generator=generator)
        noise = torch.rand(size, length, generator=generator) < 0.3
        self.input_ids = torch.where(noise, tokens, tokens + half * self.labels[:, None])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": self.input_ids[index], "labels": self.labels[index]}


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=6)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--train_size", type=int, default=50)
    parser.add_argument("--seed", type=int, default=13)
    return parser.parse_args()


def main():
    args = parse_args()
    accelerator = Accelerator()
    set_seed(args.seed)

    vocab_size = 64
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=vocab_size,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
            num_labels=2,
        )
    )
    train_set = HalvesDataset(args.train_size, 12, vocab_size, args.seed)
    loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = get_linear_schedule_with_warmup(optimizer, 2, args.epochs * len(loader))
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    for epoch in range(args.epochs):
        model.train()
        for step, batch in enumerate(loader):
            outputs = model(**batch)
            accelerator.backward(outputs.loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

            if step % 2 == 0:
                hits = outputs.logits.argmax(dim=-1) == batch["labels"]
                accuracy = accelerator.gather(hits.float().mean().item())
                accelerator.print(f"epoch {epoch} step {step}: accuracy {accuracy:.3f}")

    accelerator.wait_for_everyone()
    accelerator.print("done")


if __name__ == "__main__":
    main()
