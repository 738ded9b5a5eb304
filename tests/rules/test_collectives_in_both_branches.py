"""TRL006: a helper whose branches both communicate, called by some ranks only, and groups that a test asks about."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")

HELPERS = """\
import torch
import torch.distributed as dist


def send(x, source):
    if dist.get_rank() == source:
        dist.broadcast(x, src=source)
    else:
        {received}


def finish(x, source, keeps):
    {finish}
"""
RECEIVED = "dist.broadcast(torch.empty_like(x), src=source)"
ON_ONE = "if dist.get_rank() == 0:\n        send(x, source)"


@pytest.mark.parametrize(
    ("received", "finish", "is_reported"),
    [
        (RECEIVED, ON_ONE, True),
        (f"{RECEIVED}\n        return x", ON_ONE, True),
        # All ranks make the call, or the test says nothing of them.
        (RECEIVED, "send(x, source)", False),
        (RECEIVED, "if keeps:\n        send(x, source)", False),
        (RECEIVED, f"{ON_ONE}\n    else:\n        send(x, source)", False),
        # The other ranks do something else in it, or may leave before.
        ("pass", ON_ONE, False),
        (f"if x.keeps:\n            return\n        {RECEIVED}", ON_ONE, False),
        ("dist.barrier()", ON_ONE, False),
    ],
)
def test_a_helper_whose_branches_both_communicate_is_for_all_ranks(received, finish, is_reported):
    text = HELPERS.format(received=received, finish=finish)
    found = [text.splitlines()[each.start.line - 1].strip() for each in SNIPPETS.findings(text)]
    assert [each for each in found if each == "send(x, source)"] == ["send(x, source)"] * is_reported


GROUPS = """\
import torch
import torch.distributed as dist


def get_rank(group):
    return dist.get_rank(group=group)


def send(x, source, group):
    if get_rank(group) == source:
        dist.broadcast(x, src=source, group=group)
    else:
        dist.broadcast(torch.empty_like(x), src=source, group=group)


def send_parts(x, source, group):
    send(x, source, group)
    for part in x:
        dist.broadcast(part, src=source, group=group)


def send_all(x, parts, source, group, others):
    if {test}:
        send(x, source, {mine})
        {more}
    else:
        send(x, source, group)
        send_parts(parts, source, group)
"""


@pytest.mark.parametrize(
    ("test", "mine", "more", "is_reported"),
    [
        ("get_rank(group) == source", "group", "pass", True),
        ("dist.get_rank(group=group) == source", "group", "pass", True),
        ("get_rank(group) == source", "group", "send_parts(parts, source, group)", False),
        # The ranks may be those of two groups.
        ("get_rank(group) == source", "others", "pass", False),
        ("get_rank(others) == source", "group", "pass", False),
        ("dist.get_rank() == source", "group", "pass", False),
    ],
)
def test_who_asks_for_the_rank_in_a_group_is_in_it(test, mine, more, is_reported):
    text = GROUPS.format(test=test, mine=mine, more=more)
    found = [text.splitlines()[each.start.line - 1].strip() for each in SNIPPETS.findings(text)]
    assert found == ["send_parts(parts, source, group)"] * is_reported
