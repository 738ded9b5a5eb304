"""TRL014: what it reports, its messages, the applicability of its fix, and what the fix writes."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop, shown, trainer

SNIPPETS = Snippets("TRL014")

HOOK = """
def {name}(self, model, inputs, *args, **kwargs):
    mask = inputs["attention_mask"]
    total = self.accelerator.gather_for_metrics({value})
    return total
"""


def hook(value: str, name: str = "compute_loss") -> str:
    return trainer(HOOK.format(name=name, value=value))


def test_a_finding_says_what_where_why_and_how():
    text = hook("mask.sum()")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "self.accelerator.gather_for_metrics(mask.sum())"
    assert (finding.code, finding.name) == ("TRL014", "truncated-gather")
    assert "with several processes those of some ranks are missing" in finding.message
    assert [step.text for step in finding.because] == ["`inputs` is this rank's own data"]


@pytest.mark.parametrize(
    ("value", "is_reported"),
    [
        ("mask.sum()", True),
        ("model(**inputs).loss", True),
        ("torch.tensor(len(mask), device=self.accelerator.device)", True),
        ("(mask.sum(), mask.max())", True),
        ("mask.sum(1)", False),
        ("(mask.sum(1), mask.sum())", False),
        ("mask", False),
        ("[mask.sum().item()]", False),
        ("torch.tensor(3.0)", False),
        ("self.accelerator.gather(mask.sum()).sum()", False),
        ("helper(mask)", False),
    ],
)
def test_only_what_is_certain_to_be_one_value_of_a_rank_is_reported(value: str, is_reported: bool):
    assert bool(SNIPPETS.findings(hook(value))) is is_reported


PER_ROW = """
def compute_loss(self, model, inputs, *args, **kwargs):
    share = inputs["input_ids"].sum().item() / 3
    {filled}
    shares = torch.tensor(shares, device=self.accelerator.device)
    return self.accelerator.gather_for_metrics(shares)
"""


@pytest.mark.parametrize(
    ("filled", "is_reported"),
    [
        ("shares = [share]", True),
        ("shares = []\n    for row in inputs['input_ids']: shares.append(share)", False),
    ],
)
def test_what_a_loop_has_filled_may_have_one_value_of_each_row(filled: str, is_reported: bool):
    assert bool(SNIPPETS.findings(trainer(PER_ROW.format(filled=filled)))) is is_reported


@pytest.mark.parametrize(
    ("name", "is_reported"),
    [("compute_loss", True), ("training_step", True), ("prediction_step", False), ("my_own_method", False)],
)
def test_what_counts_is_a_step_of_the_training(name: str, is_reported: bool):
    assert bool(SNIPPETS.findings(hook("mask.sum()", name))) is is_reported


def test_in_a_loop_it_is_the_loader_and_the_gradients():
    text = loop("total = accelerator.gather_for_metrics(loss)")
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(text.replace("        accelerator.backward(loss)\n", ""))
    assert not SNIPPETS.findings(text.replace("model, optimizer, loader = ", "model, optimizer, _ = "))


def test_behind_the_loop_nothing_is_cut():
    text = loop("total = loss.detach()\n") + "    accelerator.gather_for_metrics(total)\n"
    assert not SNIPPETS.findings(text)


def test_an_evaluation_inside_the_training_is_an_evaluation():
    text = loop("""
        for batch in accelerator.prepare(torch.utils.data.DataLoader(rows)):
            accelerator.gather_for_metrics(model(**batch).loss)
    """)
    assert not SNIPPETS.findings(text)


def test_a_helper_is_told_apart_by_where_it_is_called_from():
    text = hook("mask.sum()", "prediction_step").replace(
        "self.accelerator.gather_for_metrics(mask.sum())", "self.collect(mask.sum())"
    )
    helper = "\n    def collect(self, value):\n        return self.accelerator.gather_for_metrics(value)\n"
    assert not SNIPPETS.findings(text + helper)
    assert SNIPPETS.findings(text.replace("prediction_step", "compute_loss") + helper)


def test_the_fix_is_another_name():
    text = hook("mask.sum()")
    assert SNIPPETS.mended(text) == text.replace("gather_for_metrics(", "gather(")
    named = text.replace("(mask.sum())", "(input_data=mask.sum())")
    assert SNIPPETS.mended(named) == text.replace("gather_for_metrics(", "gather(tensor=")


@pytest.mark.parametrize("call", ["(mask.sum(), use_gather_object=False)", "(*[mask.sum()])"])
def test_other_arguments_are_left_to_the_author(call: str):
    text = hook("mask.sum()").replace("(mask.sum())", call)
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_it_has_to_be_asked_for():
    assert not SNIPPETS.finding(hook("mask.sum()")).by_default
