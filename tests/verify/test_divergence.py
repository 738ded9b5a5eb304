"""The branch or the loop where ranks diverge: which one is named, and which ones are not the cause."""

from __future__ import annotations

import pytest
import simulated

from trl_lint.verify.oracles import divergence, sequence, termination
from trl_lint.verify.rank import executing
from trl_lint.verify.record import executed
from trl_lint.verify.record.traces import Run

# For each program: the text after "the ranks diverge ".
PROGRAMS = {
    "a branch": (
        """\
        loss = rank
        if loss > 0:
            pass
        else:
            meet()
        meet("barrier")
        """,
        "after train.py:2 `if loss > 0:`: rank 0 goes to line 5, rank 1 to line 3",
    ),
    "one way has nothing in it": (
        """\
        if rank == 0:
            meet()
        meet("barrier")
        """,
        "after train.py:1 `if rank == 0:`: rank 0 goes to line 2, rank 1 to line 3",
    ),
    "branches that are made of several": (
        """\
        if rank > 5:
            meet()
        elif rank == 1:
            x = 1
        else:
            meet()
        meet("barrier")
        """,
        "after train.py:3 `elif rank == 1:`: rank 0 goes to line 6, rank 1 to line 4",
    ),
    "other branches come to the same": (
        """\
        if rank == 0:
            print("main")
            for each in range(3):
                print(each)
        else:
            try:
                1 / 0
            except ZeroDivisionError:
                pass
        if rank == 0:
            meet("broadcast")
        else:
            meet("broadcast")
        for each in range(2 + rank):
            x = each
        for each in range(3):
            if each > rank:
                print(each)
            if each == 1 and rank == 1:
                continue
            meet()
        meet("barrier")
        """,
        "after train.py:19 `if each == 1 and rank == 1:`: rank 0 goes to line 21, rank 1 to line 20 (`continue`)",
    ),
    "an early return": (
        """\
        def log(value):
            if value > 0:
                return None
            x = value
            return meet()

        for each in range(2):
            log(each * rank)
        meet("barrier")
        """,
        "after train.py:2 `if value > 0:`: rank 0 goes to line 4, rank 1 to line 3 (`return`)",
    ),
    "a return from inside of a loop": (
        """\
        def train():
            for each in range(3):
                with open(__file__):
                    if each == 1 and rank == 1:
                        return
            meet()

        import sys
        __file__ = sys.executable
        train()
        meet("barrier")
        """,
        "after train.py:4 `if each == 1 and rank == 1:`: rank 0 goes to line 3, rank 1 to line 5 (`return`)",
    ),
    "a break": (
        """\
        for each in range(4):
            if each == 2 and rank == 0:
                break
            meet()
        meet("barrier")
        """,
        "after train.py:2 `if each == 2 and rank == 0:`: rank 0 goes to line 3 (`break`), rank 1 to line 4",
    ),
    "a loop of another length": (
        """\
        for each in range(3 + rank):
            meet()
        meet("barrier")
        """,
        "at train.py:1 `for each in range(3 + rank):`: rank 0 leaves the loop after 3 rounds, rank 1 goes on",
    ),
    "a loop that one rank does not begin": (
        """\
        while rank:
            meet()
            rank = 0
        meet("barrier")
        """,
        "at train.py:1 `while rank:`: rank 0 leaves the loop after 0 rounds, rank 1 goes on",
    ),
    "an exception that one rank swallows": (
        """\
        def read():
            if rank == 1:
                raise ValueError
            return 1

        try:
            x = int("7" if rank else "7")
            y = read()
            meet()
        except ValueError:
            y = 2
        meet("barrier")
        """,
        "after train.py:2 `if rank == 1:`: rank 0 goes to line 4 (`return`), rank 1 to line 3 (`raise`)",
    ),
    "an exception of a library that one rank swallows": (
        """\
        try:
            x = int("x" if rank else "7")
            meet()
        except ValueError:
            x = 2
        meet("barrier")
        """,
        "in train.py:1 `try:`: rank 0 goes on, rank 1 fails at line 2 and goes to line 5 (`except`)",
    ),
    "a case": (
        """\
        match rank:
            case 0:
                meet()
            case _:
                pass
        meet("barrier")
        """,
        "after train.py:1 `match rank:`: rank 0 goes to line 3, rank 1 to line 5",
    ),
    "calls in another order": (
        """\
        def reduce():
            meet("all_reduce")

        def share():
            meet("broadcast")

        for step in (reduce, share) if rank == 0 else (share, reduce):
            step()
        """,
        "in train.py:8 `step()`: rank 0 goes to line 2 (reduce), rank 1 to line 5 (share)",
    ),
    "a callback that one rank alone has": (
        """\
        def main_only():
            return 1

        def loss(each):
            if each and rank:
                return
            meet()

        def library():
            return list(map(lambda each: (rank or main_only(), loss(each)), range(3)))

        library()
        meet("barrier")
        """,
        "after train.py:5 `if each and rank:`: rank 0 goes to line 7, rank 1 to line 6 (`return`)",
    ),
    "functions that call others in the end": (
        """\
        def first(each):
            return second(each)

        def second(each):
            if each == 2 and rank:
                return int(each)
            return meet()

        def library():
            list(map(first, range(4)))

        library()
        meet("barrier")
        """,
        "after train.py:5 `if each == 2 and rank:`: rank 0 goes to line 7 (`return`), rank 1 to line 6 (`return`)",
    ),
    "a function that calls itself": (
        """\
        def down(each):
            if each:
                down(each - 1)
            if each == 1 and rank:
                return
            meet()

        down(2)
        meet("barrier")
        """,
        "after train.py:4 `if each == 1 and rank:`: rank 0 goes to line 6, rank 1 to line 5 (`return`)",
    ),
    "a generator": (
        """\
        def batches():
            for each in range(3):
                if each == 2 and rank:
                    return
                yield each

        for batch in batches():
            meet()
        meet("barrier")
        """,
        "at train.py:7 `for batch in batches():`: rank 1 leaves the loop after 2 rounds, rank 0 goes on",
    ),
    "the condition of a loop is a collective": (
        """\
        n = 0
        while meet() or n < 2:
            n += 1
            if rank and n == 2:
                meet("broadcast")
        meet("barrier")
        """,
        "after train.py:4 `if rank and n == 2:`: rank 0 goes on, rank 1 goes to line 5",
    ),
    "gradients": (
        """\
        for each in range(3):
            if each < 2 or rank == 0:
                backward()
            x = each
        meet() if rank else meet("barrier")
        """,
        "after train.py:2 `if each < 2 or rank == 0:`: rank 0 goes to line 3, rank 1 to line 4",
    ),
}


@pytest.mark.parametrize(("program", "said"), PROGRAMS.values(), ids=PROGRAMS)
def test_where_ranks_part(program, said, tmp_path):
    found = divergence.divergence_of(simulated.run(program, tmp_path))
    assert found is not None and found.text == f"the ranks diverge {said}"


SILENT = {
    "nobody parts": "for each in range(3):\n    meet()\n",
    "by data alone": "meet('all_reduce' if rank else 'barrier')\n",
    "all is right": "if rank:\n    meet()\nelse:\n    meet()\nmeet('barrier')\n",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_is_said_where_it_can_not_be_told(program, tmp_path):
    assert divergence.divergence_of(simulated.run(program, tmp_path)) is None


def test_equal_ranks_are_named_together(tmp_path):
    program = "if rank == 1:\n    x = 1\nelse:\n    meet()\nmeet('barrier')\n"
    found = divergence.divergence_of(simulated.run(program, tmp_path, nproc=3))
    assert found.text == "the ranks diverge after train.py:1 `if rank == 1:`: ranks 0, 2 go to line 4, rank 1 to line 2"
    assert found.data["kind"] == "branch" and found.data["line"] == 1
    assert [way["ranks"] for way in found.data["ways"]] == [[0, 2], [1]]
    assert [way["line"] for way in found.data["ways"]] == [4, 2]


def test_members_of_a_group_are_compared_among_themselves(tmp_path):
    """Ranks 0 and 1 have another group, and have finished with it."""
    program = "mine = [[0, 1], [2, 3]][rank // 2]\nif rank != 3:\n    meet(group=mine)\nmeet('barrier')\n"
    run = simulated.run(program, tmp_path, nproc=4)
    # Only rank 2 waits in the group; the others are past it.
    found = divergence.divergence_of(run)
    assert found.line == 2 and (3,) in [way.ranks for way in found.branches]


def test_a_long_run_is_compared_from_a_collective_on_that_all_know_of(tmp_path, monkeypatch):
    """With a sixteenth of what is kept, which is full sooner."""
    rounds = executing.RING // 16
    for module in (executing, executed):
        monkeypatch.setattr(module, "RING", rounds)
    program = f"""\
    def step(each):
        for one in range(4):
            x = one
        if rank and each == {rounds // 4 - 1}:
            return
        meet()

    for each in range({rounds // 4}):
        step(each)
    meet("barrier")
    """
    run = simulated.run(program, tmp_path)
    assert not any(rank.executed.is_whole for rank in run.ranks)
    found = divergence.divergence_of(run)
    assert found.text.startswith("the ranks diverge after train.py:4 ") and found.text.endswith(
        "rank 1 to line 5 (`return`)"
    )


def test_it_is_evidence_of_both_verdicts(tmp_path):
    run = simulated.run("if rank:\n    meet()\nmeet('barrier')\n", tmp_path)
    run.stuck = True
    for oracle in (termination, sequence):
        verdict = oracle.judge(run)
        assert verdict.evidence[-1].startswith("the ranks diverge after train.py:1 `if rank:`: ")
        assert verdict.data["parting"]["ways"][1]["line"] == 2


def test_without_marks_nothing_is_said(tmp_path):
    run = simulated.run("if rank:\n    meet()\nmeet('barrier')\n", tmp_path)
    for rank in run.ranks:
        rank.executed = type(rank.executed)()
    assert divergence.divergence_of(run) is None and divergence.divergence_of(Run([])) is None
