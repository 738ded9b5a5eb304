"""Trains a small encoder to rebuild masked tokens (masked language modelling) with Accelerate."""

import argparse
import random
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForMaskedLM

PAD, MASK = 0, 1


def make_sentences(count, vocab_size, seed):
    rng = random.Random(seed)
    sentences = []
    for _ in range(count):
        start, step = rng.randrange(2, vocab_size), rng.randint(1, 3)
        length = rng.randint(5, 16)
        sentences.append([2 + (start + step * i) % (vocab_size - 2) for i in range(length)])
    return sentences


def collate(sentences):
    return pad_sequence([torch.tensor(s) for s in sentences], batch_first=True, padding_value=PAD)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mask_probability", type=float, default=0.2)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--num_epochs", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)

    config = BertConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=20,
        pad_token_id=PAD,
    )
    model = BertForMaskedLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    loader = DataLoader(make_sentences(60, 40, args.seed), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    start = time.time()
    for epoch in range(args.num_epochs):
        model.train()
        for input_ids in loader:
            is_token = input_ids != model.config.pad_token_id
            masked = (torch.rand(input_ids.shape, device=input_ids.device) < args.mask_probability) & is_token
            masked[:, 0] = True
            corrupted = input_ids.masked_fill(masked, MASK)
            logits = model(input_ids=corrupted, attention_mask=is_token.long()).logits
            loss = cross_entropy(logits[masked], input_ids[masked])
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(f"epoch {epoch} finished after {time.time() - start:.1f} s")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained("masked_lm")


if __name__ == "__main__":
    main()
