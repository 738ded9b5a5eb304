"""Findings in a method that a library calls only on request, if no program requests it, are not in the default set."""

from __future__ import annotations

import pytest

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

TRAINER = """
from transformers import Trainer
from trl import SFTTrainer

class CardTrainer({base}):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.model = self.accelerator.prepare(self.model)

    {before}

    def {name}(self, *args, **kwargs):
        return self.model.config.name_or_path
"""
PROGRAM = """
from transformers import HfArgumentParser, TrainingArguments
from cards import CardTrainer

def main(model, data):
    args = {arguments}
    trainer = CardTrainer(model, args, train_dataset=data)
    trainer.train()
    {after}
{start}
"""
START = 'if __name__ == "__main__":\n    main()\n'
PARSED = "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]"


def by_default(
    tmp_path, *, base="Trainer", before="pass", name="create_model_card", arguments="None", after="pass", start=START
):
    trainer = TRAINER.format(base=base, before=before, name=name)
    program = PROGRAM.format(arguments=arguments, after=after, start=start)
    program = program.replace("HfArgumentParser, ", "") if "HfArgumentParser(" not in arguments else program
    texts = {tmp_path / "cards.py": trainer.encode(), tmp_path / "train.py": program.encode()}
    for path, text in texts.items():
        path.write_bytes(text)
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
    linter.prepare(texts.items())
    path = tmp_path / "cards.py"
    return [each.by_default for each in linter.check(path, texts[path])]


@pytest.mark.parametrize(
    ("arguments", "after", "expected"),
    [
        ('TrainingArguments("out")', "pass", False),
        ('TrainingArguments("out", push_to_hub=False)', "pass", False),
        ('TrainingArguments("out")', "# trainer.push_to_hub()", False),
        ('TrainingArguments("out", push_to_hub=True)', "pass", True),
        ('TrainingArguments("out")', "trainer.push_to_hub()", True),
        ('TrainingArguments("out")', 'run(trainer, "create_model_card")', True),
        ('TrainingArguments("out")', "if args.push_to_hub: print(args.push_to_hub == 3)", False),
        ('TrainingArguments("out")', "args.push_to_hub = args.push_to_hub or bool(data)", True),
        (PARSED, "pass", True),  # the user who starts it may request it
    ],
)
def test_programs_that_ask_for_a_card_and_others(tmp_path, arguments, after, expected):
    assert by_default(tmp_path, arguments=arguments, after=after) == [expected]


def test_a_trainer_without_a_program(tmp_path):
    assert by_default(tmp_path, start="") == [True]


def test_another_method(tmp_path):
    assert by_default(tmp_path, name="training_step") == [True]


def test_bases_that_may_call_it(tmp_path):
    assert by_default(tmp_path, base="SFTTrainer") == [True]
    own = "def _save_checkpoint(self, *args):\n        self.create_model_card()"
    assert by_default(tmp_path, before=own) == [True]
