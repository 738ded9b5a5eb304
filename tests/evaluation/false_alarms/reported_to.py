# A setting that `TrainingArguments` turns into a list, whatever it was given: no string is equal to that.
from dataclasses import dataclass

import wandb
from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class OwnArguments(TrainingArguments):
    project: str = "tiny"


@dataclass
class ScriptArguments:
    report_to: str = "wandb"


def compared(model, data):
    training_args = TrainingArguments("out", report_to="wandb")
    if training_args.report_to == "wandb":
        wandb.init(project="tiny")
    if training_args.report_to != "wandb":
        wandb.init(project="tiny")  # expect: TRL008
    Trainer(model=model, args=training_args, train_dataset=data).train()


def looked_for(model, data):
    training_args = OwnArguments("out", report_to="wandb")
    if training_args.report_to == "wandb":
        wandb.init(project="tiny")
    if "wandb" in training_args.report_to or training_args.report_to[0] == "wandb":
        wandb.init(project="tiny")  # expect: TRL008
    Trainer(model=model, args=training_args, train_dataset=data).train()


def of_the_script(model, data):
    args, training_args = HfArgumentParser((ScriptArguments, TrainingArguments)).parse_args_into_dataclasses()
    if args.report_to == "wandb":
        wandb.init(project="tiny")  # expect: TRL008
    Trainer(model=model, args=training_args, train_dataset=data).train()


class Reporting(Trainer):
    def training_step(self, model, inputs, *others):
        loss = super().training_step(model, inputs, *others)
        if self.args.report_to == "wandb":
            wandb.log({"step": self.state.global_step})
        if self.args.report_to != "none":
            wandb.log({"step": self.state.global_step})  # expect: TRL008
        return loss
