# The file itself assigns a string where `TrainingArguments` had a list.
import wandb
from transformers import Trainer, TrainingArguments


def started(model, data, tracker):
    training_args = TrainingArguments("out")
    training_args.report_to = tracker
    if training_args.report_to == "wandb":
        wandb.init(project="tiny")  # expect: TRL008
    Trainer(model=model, args=training_args, train_dataset=data).train()
