"""TRL006: whether a batch has any rows does not divide the ranks, as no dataloader yields one without rows."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")


SKIPS = """\
from accelerate import Accelerator

def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        {before}
        if {test}:
            continue
        accelerator.backward(model(**batch).loss)
"""


def skips(test: str, before: str = "pass") -> bool:
    return bool(SNIPPETS.findings(SKIPS.format(before=before, test=test)))


@pytest.mark.parametrize(
    "test",
    [
        "len(batch) == 0",
        "not len(batch)",
        "len(batch['input_ids']) == 0",
        "batch['input_ids'].shape[0] == 0",
        "batch['input_ids'].size(1) < 1",
        "batch['prompt_attention_mask'].numel() == 0",
    ],
)
def test_no_loader_yields_a_batch_without_rows(test):
    assert not skips(test)
    left = test.partition(" == ")[0]
    assert left == test or not skips("count == 0", f"count = {left}")


@pytest.mark.parametrize(
    ("before", "speaks"),
    [
        ("b, n = batch['input_ids'].shape", False),
        ("ids = batch['input_ids']; b, n = ids.size()", False),
        ("b, n = batch['input_ids'][batch['keep']].shape", True),
        ("b, n = batch['input_ids'].shape; n = batch['labels'].sum()", True),
        ("b, n = batch['pixel_values'].shape", True),
    ],
)
def test_sizes_that_are_unpacked(before, speaks):
    assert skips("n == 0", before) is speaks


@pytest.mark.parametrize(
    ("test", "before"),
    [
        ("len(batch['images']) == 0", "pass"),
        ("batch['pixel_values'].shape[0] == 0", "pass"),
        ("batch['input_ids'].shape[1] < 4", "pass"),
        ("batch['input_ids'].shape[1] == 3", "pass"),
        ("batch['attention_mask'].sum() == 0", "pass"),
        ("batch['input_ids'][batch['keep']].size(0) == 0", "pass"),
        ("batch['input_ids'][:, 8:].size(1) == 0", "pass"),
        ("picked.size(0) == 0", "picked = batch['input_ids'][batch['keep']]"),
        ("len(batch) == 0", "batch = batch[batch > 0]"),
        ("batch['input_ids'].size(0) == 0", "batch['input_ids'] = batch['input_ids'][batch['keep']]"),
        ("count == 0", "count = batch['input_ids'].size(0) - batch['labels'].sum()"),
        ("count == 0", "count = len(batch['input_ids']); count = batch['labels'].sum()"),
    ],
)
def test_what_may_be_empty_on_one_rank(test, before):
    assert skips(test, before)
