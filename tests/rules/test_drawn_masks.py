"""TRL015: rows that each rank keeps at random, by a mask or as a share of a table."""

from __future__ import annotations

import pytest
from snippets import Snippets

from trl_lint.findings import Applicability

SNIPPETS = Snippets("TRL015")
HEAD = """\
import random
import numpy as np
import pandas as pd
import torch
from datasets import Dataset
from numpy.random import uniform
from transformers import Trainer, TrainingArguments, set_seed
from mine import encode

table = pd.read_csv("rows.csv")
rows = table.to_dict("records")
"""
USE = 'Trainer("m", TrainingArguments("out"), train_dataset=train)\n'
MASK = "mask = np.random.rand(len(table)) < 0.8\n"


def program(*lines: str) -> str:
    return HEAD + "".join(f"{line}\n" for line in lines) + USE


@pytest.mark.parametrize(
    ("lines", "help_"),
    [
        (("train = Dataset.from_pandas(table.sample(frac=0.8))",), "`random_state=42`"),
        (("table = table.sample(frac=1).reset_index(drop=True)", "train = Dataset.from_pandas(table)"),
         "`random_state=42`"),
        ((MASK, "train = Dataset.from_pandas(table[mask])"), "`np.random.RandomState(42).rand(…)`"),
        ((MASK, "train = Dataset.from_pandas(table[~mask])"), "`np.random.RandomState(42).rand(…)`"),
        ((MASK, "train = Dataset.from_pandas(table.loc[mask])"), "`np.random.RandomState(42).rand(…)`"),
        (("train = Dataset.from_pandas(table[np.random.random(len(table)) > 0.1])",),
         "`np.random.RandomState(42).random(…)`"),
        (("train = Dataset.from_pandas(table[uniform(size=len(table)) > 0.1])",),
         "`np.random.RandomState(42).uniform(…)`"),
        (("mask = torch.rand(len(table)) < 0.8", "train = Dataset.from_pandas(table[mask])"),
         "`generator=torch.Generator().manual_seed(42)`"),
        (("train = Dataset.from_list([row for row in rows if random.random() < 0.8])",),
         "ranks: call `set_seed` before it"),
        (("kept = np.random.choice(len(rows), 100, replace=False)",
          "train = Dataset.from_list([rows[i] for i in kept])"), "`np.random.default_rng(42).choice(…)`"),
        (("kept = np.random.choice(len(rows), 100, replace=False)",
          "rest = np.setdiff1d(np.arange(len(rows)), kept)",
          "train = Dataset.from_list([rows[i] for i in rest])"), "`np.random.default_rng(42).choice(…)`"),
    ],
)  # fmt: skip
def test_rows_that_are_kept_at_random(lines, help_):
    finding = SNIPPETS.finding(program(*lines))
    assert help_ in finding.help
    assert not SNIPPETS.findings(program("set_seed(1)", *lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("train = Dataset.from_pandas(table.sample(frac=0.8, random_state=1))",),
        ("train = Dataset.from_pandas(table.sample(frac=0.8, random_state=args.seed))",),
        ("shown = table.sample(frac=0.1)", "train = Dataset.from_pandas(table)"),
        ("train = Dataset.from_pandas(table.sample(frac=0.8).sort_values('id'))",),
        # Numbers beside all rows.
        ("table['noise'] = np.random.rand(len(table))", "train = Dataset.from_pandas(table)"),
        ("train = Dataset.from_list([encode(row, np.random.rand(3)) for row in rows])",),
        ("train = Dataset.from_list([row if random.random() < 0.5 else encode(row) for row in rows])",),
        (MASK, "print(table[mask])", "train = Dataset.from_pandas(table)"),
        ("mask = table['score'] < 0.8", "train = Dataset.from_pandas(table[mask])"),
        ("mask = np.random.RandomState(1).rand(len(table)) < 0.8", "train = Dataset.from_pandas(table[mask])"),
        ("mask = torch.rand(len(table), generator=torch.Generator().manual_seed(1)) < 0.8",
         "train = Dataset.from_pandas(table[mask])"),
        ("mask = torch.rand(len(table)).cuda() < 0.8", "torch.distributed.broadcast(mask, 0)",
         "train = Dataset.from_pandas(table[mask])"),
        ("mask = torch.rand(len(table)) < 0.8", "torch.distributed.broadcast(mask, 0)",
         "train = Dataset.from_pandas(table[mask])"),
        (MASK, "mask = encode(mask)", "train = Dataset.from_pandas(table[mask])"),
        ("name = np.random.choice(['a', 'b'])", "train = Dataset.from_pandas(table[table.kind == name])"),
        ("np.random.seed(1)", "kept = np.random.choice(len(rows), 100)",
         "train = Dataset.from_list([rows[i] for i in kept])"),
    ],
)  # fmt: skip
def test_rows_that_are_the_same_on_all_ranks(lines):
    assert not SNIPPETS.findings(program(*lines))


def test_a_mask_gets_a_generator_and_each_row_gets_none():
    seed = "seed = 1\n"
    fixed = SNIPPETS.mended(program(seed, MASK, "train = Dataset.from_pandas(table[mask])"), unsafe=True)
    assert "mask = np.random.RandomState(seed).rand(len(table)) < 0.8\n" in fixed
    fixed = SNIPPETS.mended(program(seed, "train = Dataset.from_pandas(table.sample(frac=1))"), unsafe=True)
    assert "table.sample(frac=1, random_state=seed)" in fixed
    one_by_one = program(seed, "train = Dataset.from_list([row for row in rows if random.random() < 0.8])")
    fix = SNIPPETS.finding(one_by_one).fix
    assert (fix.applicability, fix.reason) == (
        Applicability.DISPLAY,
        "there is no call to which a seed could be passed",
    )
