"""Causal language modelling with focal loss instead of plain cross entropy."""

import argparse
import random

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class PeriodicSequences(torch.utils.data.Dataset):
    """Sequences that repeat a short random pattern, so that there is something to learn."""

    def __init__(self, size, length=24, vocab_size=50, seed=0):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(size):
            pattern = [rng.randrange(vocab_size) for _ in range(rng.randint(2, 5))]
            self.rows.append((pattern * length)[:length])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        ids = torch.tensor(self.rows[index])
        return {"input_ids": ids, "labels": ids.clone()}


class FocalTrainer(Trainer):
    def __init__(self, *args, gamma=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.gamma = gamma

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits[:, :-1].reshape(-1, model.config.vocab_size)
        nll = F.cross_entropy(logits, labels[:, 1:].reshape(-1), reduction="none")
        # Easy tokens count less: (1 - p) ** gamma
        loss = ((1.0 - torch.exp(-nll)) ** self.gamma * nll).mean()
        return (loss, outputs) if return_outputs else loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gamma", type=float, default=2.0)
    parser.add_argument("--train_size", type=int, default=44)
    parser.add_argument("--eval_size", type=int, default=10)
    parser.add_argument("--epochs", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--output_dir", type=str, default="focal_gpt2")
    args = parser.parse_args()

    set_seed(args.seed)
    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)

    training_args = TrainingArguments(
        output_dir=args.output_dir,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        learning_rate=2e-3,
        warmup_ratio=0.1,
        logging_steps=2,
        eval_strategy="epoch",
        save_strategy="no",
        seed=args.seed,
        report_to=[],
    )
    trainer = FocalTrainer(
        model=model,
        args=training_args,
        train_dataset=PeriodicSequences(args.train_size, seed=args.seed),
        eval_dataset=PeriodicSequences(args.eval_size, seed=args.seed + 1),
        gamma=args.gamma,
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
