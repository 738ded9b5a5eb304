"""Trains with the Trainer of transformers and trl's WeaveCallback, with a stand-in for Weave."""

import shared
import trackers
from shared import tiny
from transformers import Trainer, TrainingArguments
from trl.trainer.callbacks import WeaveCallback

chosen = shared.options()
trainer = Trainer(
    model=tiny.tiny_model(),
    args=TrainingArguments(**shared.arguments(chosen)),
    train_dataset=tiny.token_rows(shared.size(chosen)),
    eval_dataset=tiny.prompt_dataset(2),
)
trainer.add_callback(WeaveCallback(trainer, project_name=trackers.PROJECT))
trainer.train()
