# Each process draws a name for the folder that the arguments of its trainer are made with: it writes files of its own.
import os
import uuid
from pathlib import Path

import torch
from transformers import Trainer, TrainingArguments


class Encoding(Trainer):
    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        rows = torch.cat([self.model.encode(each) for each in self.get_eval_dataloader(eval_dataset)])
        torch.save(rows, os.path.join(self.args.output_dir, f"rows_{self.state.global_step}.pt"))
        torch.save(rows, os.path.join(self.args.logging_dir, f"rows_{self.state.global_step}.pt"))  # expect: TRL008
        return {}


def main(args, model):
    tag = str(uuid.uuid4())[:8]
    folder = Path(args.root) / "model" / tag
    training_args = TrainingArguments(max_steps=3, logging_dir=args.logs, output_dir=folder)  # expect: TRL026
    trainer = Encoding(model, args=training_args)
    trainer.train()
