"""Trains with the Trainer of transformers itself, on rows of one length whose labels differ in number.

The loss is the mean over the tokens of all processes: with the same rows per step it is that of one process.
"""

import shared
import tiny
from transformers import Trainer, TrainingArguments

chosen = shared.options()
trainer = Trainer(
    model=tiny.tiny_model(),
    args=TrainingArguments(**shared.arguments(chosen), average_tokens_across_devices=True),
    train_dataset=tiny.token_rows(shared.size(chosen)),
)
trainer.train()
