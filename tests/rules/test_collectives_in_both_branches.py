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


FORKS = """\
import torch
import torch.distributed as dist


def collect(part, path, on_gpu):
    {body}


def finish(part, path, on_gpu):
    {finish}
"""
TWO_KINDS = "if on_gpu:\n        dist.all_reduce(part)\n        return part\n    dist.barrier()"
IN_ELSE = "if on_gpu:\n        dist.all_reduce(part)\n    else:\n        dist.barrier()"
ONE_KIND = "if on_gpu:\n        return dist.all_reduce(part)\n    dist.all_reduce(part.cpu())"
COUNTED = """if dist.get_rank() == 0:
        lines = open(path).readlines()
        dist.broadcast(part, 0)
        for line in lines:
            dist.broadcast(part, 0)
    else:
        dist.broadcast(part, 0)
        for _ in range(int(part)):
            dist.broadcast(part, 0)"""
TWO_TESTS = """if dist.get_rank() == 0:
        dist.broadcast(part, 0)
    if dist.get_rank() != 0:
        dist.broadcast(part, 0)"""
CALL = "collect(part, path, on_gpu)"
BY_FIRST = f"if dist.get_rank() == 0:\n        {CALL}"


@pytest.mark.parametrize(
    ("body", "finish", "is_reported"),
    [
        (TWO_KINDS, BY_FIRST, True),
        (IN_ELSE, BY_FIRST, True),
        (ONE_KIND, BY_FIRST, True),
        (COUNTED, BY_FIRST, True),
        (TWO_TESTS, BY_FIRST, True),
        # All ranks make the call, those that leave it out may meet the others, or it is one rank's way to nothing.
        *((each, CALL, False) for each in (TWO_KINDS, IN_ELSE, ONE_KIND, COUNTED, TWO_TESTS)),
        *((each, f"{BY_FIRST}\n    else:\n        {CALL}", False) for each in (TWO_KINDS, ONE_KIND, COUNTED)),
        (TWO_KINDS, f"{BY_FIRST}\n    else:\n        dist.barrier()", False),
        (TWO_KINDS.replace("dist.all_reduce(part)", "part.sum()"), BY_FIRST, False),
        (ONE_KIND.replace("return ", ""), BY_FIRST, True),
        (ONE_KIND.replace("return ", "").replace("    dist.all_reduce(part.cpu())", "    pass"), BY_FIRST, False),
        (TWO_TESTS.replace("if dist", "if on_gpu and dist"), BY_FIRST, False),
        (TWO_TESTS.replace("!= 0", "== 1"), BY_FIRST, False),
    ],
)
def test_whichever_way_a_helper_takes_all_ranks_meet(body, finish, is_reported):
    text = FORKS.format(body=body, finish=finish)
    found = [text.splitlines()[each.start.line - 1].strip() for each in SNIPPETS.findings(text)]
    assert [each for each in found if each == CALL] == [CALL] * is_reported


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
