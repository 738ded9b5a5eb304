"""TRL015: dicts of data sets of which some are drawn."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL015")
PROGRAM = """\
from datasets import DatasetDict, load_dataset
from transformers import Trainer, TrainingArguments, set_seed

raw = load_dataset("a")
parts = raw["rest"].train_test_split(0.1)
fixed = raw["rest"].train_test_split(0.1, seed=1)
{made}
Trainer(model, TrainingArguments("out"), train_dataset={used})
"""
OF_BOTH = 'raw = DatasetDict({"train": parts["train"], "test": parts["test"]})'
OF_ONE = 'raw = DatasetDict({"train": parts["train"], "test": fixed["test"]})'
IF_MISSING = """\
if "test" not in raw:
    raw["train"] = parts["train"]
    raw["test"] = parts["test"]
"""


@pytest.mark.parametrize(
    "made",
    [
        'raw["train"] = parts["train"]',
        'raw["train"] = parts["train"]\nraw["test"] = parts["test"]',
        'raw["train"], raw["test"] = parts["train"], parts["test"]',
        'raw["train"] = raw["train"].shuffle()',
        'raw["train"] = parts["train"]\nraw = raw.map(encode, batched=True)',
        'raw["train"] = parts["train"]\nraw["train"] = raw["train"].map(encode)',
        'raw["train"] = parts["train"]\nraw["test"] = fixed["test"]',
        'raw["train"] = fixed["train"]\nraw["train"] = parts["train"]',
        IF_MISSING,
        OF_BOTH,
        OF_ONE,
        'raw = DatasetDict(train=parts["train"], test=fixed["test"])',
        "raw = DatasetDict({name: rows.shuffle() for name, rows in raw.items()})",
    ],
)
def test_one_of_the_drawn(made):
    (finding,) = SNIPPETS.findings(PROGRAM.format(made=made, used='raw["train"]'))
    assert [step.text for step in finding.because][-1] == "each rank takes its share of `train_dataset` here"
    assert not SNIPPETS.findings(PROGRAM.format(made=f"set_seed(1)\n{made}", used='fixed["train"]'))


@pytest.mark.parametrize(
    "made",
    [
        'raw["test"] = parts["test"]',
        'raw["test"] = parts["test"]\nraw = raw.map(encode, batched=True)',
        'raw["train"] = fixed["train"]',
        'raw["train"] = parts["train"]\nraw["train"] = fixed["train"]',
        'raw["train"] = parts["train"]\nraw["test"] = parts["test"]\nraw["train"] = fixed["train"]',
        'raw[name] = parts["train"]',
        'raw["test"] = parts["test"]\nname = "train"\nraw = DatasetDict({"train": raw[name]})',
        'raw = DatasetDict({"train": fixed["train"], "test": parts["test"]})',
        'raw = DatasetDict(train=fixed["train"], test=parts["test"])',
        'raw = DatasetDict(**{"train": fixed["train"], "test": parts["test"]})',
    ],
)
def test_one_that_is_not(made):
    assert not SNIPPETS.findings(PROGRAM.format(made=made, used='raw["train"]'))


def test_one_of_which_it_is_not_known():
    assert not SNIPPETS.findings(PROGRAM.format(made=OF_ONE, used="raw[name]"))


@pytest.mark.parametrize("made", [OF_BOTH, OF_ONE, 'raw["train"] = parts["train"]', IF_MISSING])
def test_what_is_seeded_before(made):
    text = PROGRAM.format(made=made, used='raw["train"]')
    assert not SNIPPETS.findings(text.replace('raw = load_dataset("a")', 'raw = load_dataset("a")\nset_seed(1)'))
