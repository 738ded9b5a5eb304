"""A trainer gets arguments, or makes its own: an object of the library's class, or of the project's class made from it.

Either has `should_save`, which is for one rank.
"""

from dataclasses import dataclass

import torch
from transformers import Trainer, TrainingArguments


@dataclass
class OwnArguments(TrainingArguments):
    shown: int = 10


class TrainerOfAll(Trainer):
    def __init__(self, model=None, args: TrainingArguments = None):
        if args is None:
            args = OwnArguments(output_dir="out")
        self.args = args
        super().__init__(model, args)


class SavingTrainer(TrainerOfAll):
    def save_model(self, output_dir=None, _internal_call=False):
        if self.args.should_save:
            self._save(output_dir)

    def _save(self, output_dir=None, state_dict=None):
        torch.save(self.args, f"{output_dir}/args.bin")


class ShowingTrainer(TrainerOfAll):
    def save_model(self, output_dir=None, _internal_call=False):
        if self.args.shown:
            self._save(output_dir)

    def _save(self, output_dir=None, state_dict=None):
        torch.save(self.args, f"{output_dir}/args.bin")  # expect: TRL008
