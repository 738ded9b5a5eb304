"""Next token prediction with a GRU and Accelerate; reports the speed of all processes together."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GRUModel(nn.Module):
    def __init__(self, vocab_size, width):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, width)
        self.gru = nn.GRU(width, width, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(width, vocab_size)

    def forward(self, ids):
        return self.head(self.gru(self.embedding(ids))[0])


def make_counting_sequences(count, length, vocab_size):
    generator = torch.Generator().manual_seed(3)
    starts = torch.randint(0, vocab_size, (count, 1), generator=generator)
    steps = torch.randint(1, 4, (count, 1), generator=generator)
    return TensorDataset((starts + steps * torch.arange(length)) % vocab_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab_size", type=int, default=32)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--num_sequences", type=int, default=96)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--num_epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=2)
    set_seed(55)

    model = GRUModel(args.vocab_size, args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    dataset = make_counting_sequences(args.num_sequences, args.length, args.vocab_size)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    for epoch in range(args.num_epochs):
        model.train()
        start = time.perf_counter()
        num_tokens = 0
        for (ids,) in loader:
            with accelerator.accumulate(model):
                logits = model(ids[:, :-1])
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            num_tokens += ids.numel()

        all_tokens = accelerator.reduce(torch.tensor(num_tokens), reduction="sum").item()
        elapsed = time.perf_counter() - start
        accelerator.print(f"epoch {epoch}: {all_tokens} tokens, {all_tokens / elapsed:.0f} per second")

    accelerator.wait_for_everyone()
    accelerator.save_model(model, "gru_model")


if __name__ == "__main__":
    main()
