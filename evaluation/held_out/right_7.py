"""Language modelling with Accelerate: gradient accumulation over uneven batches, weighted by their tokens."""

import argparse
import json
import random
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

PAD = 0


def make_rows(count, vocab_size, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        word, step = rng.randrange(1, vocab_size), rng.randint(1, 4)
        rows.append([1 + (word + step * i) % (vocab_size - 1) for i in range(rng.randint(3, 24))])
    return rows


def collate(rows):
    length = max(map(len, rows))
    ids = torch.tensor([row + [PAD] * (length - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


def token_losses(model, batch):
    logits = model(**batch).logits[:, :-1]
    targets = batch["input_ids"][:, 1:]
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return losses, targets != PAD


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_rows", type=int, default=70)
    parser.add_argument("--vocab_size", type=int, default=40)
    parser.add_argument("--batch_size", type=int, default=3)
    parser.add_argument("--accumulation", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--log_every", type=int, default=4)
    parser.add_argument("--seed", type=int, default=77)
    args = parser.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    set_seed(args.seed)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=args.vocab_size,
            n_positions=32,
            n_embd=32,
            n_layer=2,
            n_head=4,
            bos_token_id=PAD,
            eos_token_id=PAD,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    train_loader = DataLoader(
        make_rows(args.num_rows, args.vocab_size, 0), batch_size=args.batch_size, shuffle=True, collate_fn=collate
    )
    eval_loader = DataLoader(
        make_rows(19, args.vocab_size, 1), batch_size=args.batch_size, shuffle=False, collate_fn=collate
    )
    scheduler = get_linear_schedule_with_warmup(optimizer, 4, args.epochs * len(train_loader) // args.accumulation)
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler
    )

    start = time.time()
    history, step = [], 0
    for epoch in range(args.epochs):
        model.train()
        for batch in train_loader:
            with accelerator.accumulate(model):
                losses, mask = token_losses(model, batch)
                # DDP averages the gradients: with the mean count as divisor each token of a batch weighs the same
                mean_count = accelerator.reduce(mask.sum().float(), reduction="mean")
                loss = (losses * mask).sum() / mean_count
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            step += 1
            if step % args.log_every == 0:
                # The mean of these is the loss per token of the whole batch
                logged = accelerator.gather(loss.detach()).mean().item()
                history.append({"step": step, "loss": logged, "minutes": (time.time() - start) / 60})
                accelerator.print(history[-1])

        model.eval()
        kept = []
        for batch in eval_loader:
            with torch.no_grad():
                losses, mask = token_losses(model, batch)
            losses = accelerator.pad_across_processes(losses.masked_fill(~mask, -1.0), dim=1, pad_index=-1.0)
            losses = accelerator.gather_for_metrics(losses)
            kept.append(losses[losses >= 0])
        accelerator.print(f"epoch {epoch}: evaluation loss {torch.cat(kept).mean().item():.4f}")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained("weighted_lm")
        with open("weighted_lm/history.json", "w") as file:
            json.dump(history, file)


if __name__ == "__main__":
    main()
