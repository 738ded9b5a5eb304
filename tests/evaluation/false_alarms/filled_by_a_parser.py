# A parser of transformers or trl makes an object of each class that it is given: settings with the number of the
# process where the class is that of a Trainer's arguments, and settings alone where it is one of the program, whatever
# the names.

import json
import os
from dataclasses import dataclass

import torch
from transformers import HfArgumentParser, Trainer, TrainingArguments
from trl import GRPOConfig, TrlParser


@dataclass
class Extra:
    dump: bool = False
    quiet: bool = False
    local_rank: int = -1
    chosen: bool = False

    def __post_init__(self):
        self.writes = int(os.environ.get("RANK", 0)) == 0

    @property
    def first(self):
        return int(os.environ["RANK"]) == 0


@dataclass
class OwnArguments(TrainingArguments):
    keep: bool = False


def shown_by_main(model):
    (given,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    trainer = Trainer(model, given)
    trainer.train()
    metrics = trainer.evaluate()
    if given.process_index == 0:
        with open("metrics.json", "w") as f:
            json.dump(metrics, f)


def evaluated_by_main(model):
    (given,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    trainer = Trainer(model, given)
    trainer.train()
    if given.process_index == 0:
        metrics = trainer.evaluate()  # expect: TRL006
        with open("metrics.json", "w") as f:
            json.dump(metrics, f)


def evaluated_where_saved(model):
    own, given, rest = HfArgumentParser([Extra, OwnArguments]).parse_args_into_dataclasses(
        return_remaining_strings=True
    )
    trainer = Trainer(model, given)
    trainer.train()
    if own.dump and given.keep and rest:
        trainer.evaluate()
    if given.should_save:
        trainer.evaluate()  # expect: TRL006


def written(model):
    own, given = TrlParser((Extra, GRPOConfig)).parse_args_and_config()
    trainer = Trainer(model, given)
    trainer.train()
    own.chosen = given.process_index == 0
    if own.writes:
        torch.save({"a": 1}, "writes.pt")
    if own.first:
        torch.save({"a": 1}, "first.pt")
    if own.local_rank in (-1, 0):
        torch.save({"a": 1}, "local.pt")
    if own.chosen:
        torch.save({"a": 1}, "chosen.pt")
    if own.dump and given.process_index == 0:
        torch.save({"a": 1}, "main.pt")
    if own.dump:
        torch.save({"a": 1}, "all.pt")  # expect: TRL008
    if not own.quiet:
        torch.save({"a": 1}, "told.pt")  # expect: TRL008


def written_for_a_file(model, path):
    own = HfArgumentParser(Extra).parse_yaml_file(path)[0]
    Trainer(model).train()
    if own.dump:
        torch.save({"a": 1}, "file.pt")  # expect: TRL008


def main():
    model = torch.nn.Linear(2, 2)
    shown_by_main(model)
    evaluated_by_main(model)
    evaluated_where_saved(model)
    written(model)
    written_for_a_file(model, "run.yaml")


main()
