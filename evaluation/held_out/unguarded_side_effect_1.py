"""Trainer that keeps the latest metrics in a small JSON file, for a dashboard that reads it."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed


class Regressor(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 1))

    def forward(self, features, targets):
        predictions = self.body(features).squeeze(-1)
        return {"loss": nn.functional.mse_loss(predictions, targets), "predictions": predictions}


class SineDataset(torch.utils.data.Dataset):
    def __init__(self, size, dim, seed):
        generator = torch.Generator().manual_seed(seed)
        self.features = torch.rand(size, dim, generator=generator) * 6
        self.targets = self.features.sin().sum(dim=1)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return {"features": self.features[index], "targets": self.targets[index]}


class DashboardTrainer(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.dashboard = Path(self.args.output_dir) / "dashboard.json"
        self.dashboard.parent.mkdir(parents=True, exist_ok=True)

    def log(self, logs, start_time=None):
        super().log(logs, start_time)
        self.dashboard.write_text(json.dumps({"step": self.state.global_step, **logs}, indent=2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", default="sine_regression")
    parser.add_argument("--dim", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--train_size", type=int, default=160)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    set_seed(31)
    training_args = TrainingArguments(
        output_dir=args.output_dir,
        per_device_train_batch_size=16,
        num_train_epochs=args.epochs,
        learning_rate=1e-2,
        lr_scheduler_type="cosine",
        logging_steps=2,
        eval_strategy="epoch",
        save_strategy="no",
        label_names=["targets"],
        report_to="none",
    )
    trainer = DashboardTrainer(
        model=Regressor(args.dim, args.hidden),
        args=training_args,
        train_dataset=SineDataset(args.train_size, args.dim, seed=1),
        eval_dataset=SineDataset(50, args.dim, seed=2),
    )
    trainer.train()


if __name__ == "__main__":
    main()
