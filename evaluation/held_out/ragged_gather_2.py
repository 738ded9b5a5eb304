"""Language modelling with Accelerate; reports the hardest token of each step."""

import argparse
import logging
import random

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

logger = get_logger(__name__)


class TinyTransformer(nn.Module):
    def __init__(self, vocab_size, width=32, max_length=32):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, width, padding_idx=0)
        self.positions = nn.Embedding(max_length, width)
        layer = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocab_size)

    def forward(self, ids):
        length = ids.size(1)
        hidden = self.tokens(ids) + self.positions(torch.arange(length, device=ids.device))
        causal = nn.Transformer.generate_square_subsequent_mask(length, device=ids.device)
        return self.head(self.encoder(hidden, mask=causal, is_causal=True))


def make_rows(count, vocab_size):
    rng = random.Random(11)
    rows = []
    for _ in range(count):
        first = rng.randrange(1, vocab_size)
        rows.append([1 + (first + i * i) % (vocab_size - 1) for i in range(rng.randint(4, 20))])
    return rows


def pad_batch(rows):
    length = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (length - len(row)) for row in rows])


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab_size", type=int, default=30)
    parser.add_argument("--num_rows", type=int, default=52)
    parser.add_argument("--batch_size", type=int, default=5)
    parser.add_argument("--num_epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=2e-3)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    accelerator = Accelerator()
    set_seed(8)

    model = TinyTransformer(args.vocab_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    rows = make_rows(args.num_rows, args.vocab_size)
    loader = DataLoader(rows, batch_size=args.batch_size, shuffle=True, collate_fn=pad_batch)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    for epoch in range(args.num_epochs):
        for step, ids in enumerate(loader):
            targets = ids[:, 1:]
            logits = model(ids[:, :-1])
            token_losses = nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
            mask = targets != 0
            loss = (token_losses * mask).sum() / mask.sum()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

            hardest = accelerator.gather(token_losses.detach()[mask]).max().item()
            logger.info(f"epoch {epoch} step {step}: hardest token {hardest:.3f}")

    accelerator.wait_for_everyone()
    accelerator.save_model(model, "tiny_transformer")


if __name__ == "__main__":
    main()
