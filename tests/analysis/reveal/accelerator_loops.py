"""Loops written directly on `Accelerator`: in functions, classes and at the top of a file."""

import argparse
from time import time

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def evaluate(model, loader, accelerator: Accelerator):
    model.eval()
    losses, samples = [], 0
    correct = 0
    for step, batch in enumerate(loader):
        with torch.no_grad():
            outputs = model(**batch)
        losses.append(accelerator.gather_for_metrics(outputs.loss.repeat(4)))
        predictions = outputs.logits.argmax(dim=-1)
        reveal_rank(predictions)  # revealed: shard
        predictions, references = accelerator.gather_for_metrics((predictions, batch["labels"]))
        reveal_rank(predictions)  # revealed: same
        correct += (predictions == references).sum().item()
        samples += references.shape[0]
        reveal_rank(step)  # revealed: same
    reveal_rank(correct / samples)  # revealed: same
    losses = torch.cat(losses)
    reveal_rank(losses.mean())  # revealed: same
    return correct / samples


def train_step(model, batch, optimizer):
    loss = model(**batch).loss
    reveal_rank(loss)  # revealed: local(data)
    loss.backward()
    optimizer.step()
    return loss.detach()


def main():
    parser = argparse.ArgumentParser()
    args = parser.parse_args()
    reveal_rank(args.learning_rate)  # revealed: same
    accelerator = Accelerator(gradient_accumulation_steps=args.steps)
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    train_loader, eval_loader = make_loaders(args)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)
    reveal_rank(len(train_loader))  # revealed: same

    total_loss = 0.0
    running = 0.0
    for epoch in range(args.epochs):
        reveal_rank(epoch)  # revealed: same
        started = time()
        for step, batch in enumerate(train_loader):
            with accelerator.accumulate(model):
                loss = train_step(model, batch, optimizer)
                total_loss += loss.float()
                running = 0.9 * running + 0.1 * loss.item()
            if accelerator.sync_gradients:
                reveal_rank(step)  # revealed: same
        reveal_rank(total_loss)  # revealed: local(data)
        reveal_rank(running)  # revealed: local(data)
        reveal_rank(time() - started)  # revealed: local(clock)
        reveal_rank(total_loss.item() / len(train_loader))  # revealed: local(data)
        total_loss = accelerator.gather(total_loss).mean()
        reveal_rank(total_loss)  # revealed: same
        reveal_rank(evaluate(model, eval_loader, accelerator))  # revealed: same
        reveal_rank(optimizer.param_groups[0]["lr"])  # revealed: same


class Runner:
    """A trainer written by hand."""

    def __init__(self, model: torch.nn.Module, dataset):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, DataLoader(dataset))
        self.history = []
        self.best = 1e9

    def run(self):
        for batch in self.loader:
            loss = self.step(batch)
            reveal_rank(loss)  # revealed: local(data)
            reveal_rank(self.reduced(loss))  # revealed: same
            self.history.append(loss.item())
            self.best = min(self.best, self.reduced(loss).item())
        self.show()

    def step(self, batch):
        reveal_rank(batch["x"])  # revealed: shard
        return self.model(**batch).loss

    def reduced(self, value):
        return self.accelerator.reduce(value, "mean")

    def show(self):
        reveal_rank(self.history[-1])  # revealed: local(data)
        reveal_rank(sum(self.history) / len(self.history))  # revealed: local(data)
        reveal_rank(self.best)  # revealed: same


if __name__ == "__main__":
    main()
