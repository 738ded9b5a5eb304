"""TRL002: tests beside a read of a wrapped model that ask for something else than the wrapper."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

BRANCHES = """\
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModel


def train(name, weights, given, known):
    model = DDP(AutoModel.from_pretrained(name))
    if given in known[weights]:
        {if_true}
    else:
        {if_false}
"""
READ = "print(model.depth)"
UNWRAPPED = "model.module.load(weights)"


@pytest.mark.parametrize(
    ("if_true", "if_false", "is_reported"),
    [
        (READ, "pass", True),
        # Both branches know that there is a wrapper.
        (f"{UNWRAPPED}\n        {READ}", UNWRAPPED, True),
        (UNWRAPPED, f"{READ}\n        {UNWRAPPED}", True),
        # Only one of them does: the test may ask for the wrapper.
        (READ, UNWRAPPED, False),
        (UNWRAPPED, READ, False),
    ],
)
def test_a_test_whose_branches_both_unwrap_does_not_ask_for_the_wrapper(if_true, if_false, is_reported):
    findings = SNIPPETS.findings(BRANCHES.format(if_true=if_true, if_false=if_false))
    assert [each.message.split("`")[1] for each in findings] == [".depth"] * is_reported
