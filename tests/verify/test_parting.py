"""For programs that hang, or lose a rank, the branch or loop is named where the ranks diverge."""

from __future__ import annotations

import pytest
from marks import line

pytestmark = pytest.mark.torch

# By program: the number of ranks, and the end of the evidence, after the place of the marked line.
PROGRAMS = [
    ("skips_by_data", 2, "`if torch.isnan(loss):`: rank 0 goes to line 20, rank 1 to line 19 (`return`)"),
    ("skips_by_data", 3, "`if torch.isnan(loss):`: ranks 0, 2 go to line 20, rank 1 to line 19 (`return`)"),
    ("swallows", 2, "`try:`: rank 0 goes on, rank 1 fails at line 13 and goes to line 16 (`except`)"),
    ("other_branch", 2, "`if dist.get_rank() == 0:`: rank 0 goes to line 13, rank 1 to line 14"),
    ("other_order", 2, "`step()`: rank 0 goes to line 8 (reduce), rank 1 to line 12 (share)"),
    ("hangs_in_ddp", 2, "`if dist.get_rank() == 0:`: rank 0 goes to line 11, rank 1 to line 12"),
    ("ends_process", 2, "`if dist.get_rank() == 1:`: rank 0 goes to line 14, rank 1 to line 12"),
    (
        "returns_early",
        2,
        "`for _ in range(3 - dist.get_rank()):`: rank 1 leaves the loop after 2 rounds, rank 0 goes on",
    ),
    (
        "fewer_batches",
        2,
        "`for _ in range(3 - dist.get_rank()):`: rank 1 leaves the loop after 2 rounds, rank 0 goes on",
    ),
]


@pytest.mark.parametrize(("program", "nproc", "said"), PROGRAMS)
def test_where_ranks_part(judged, program, nproc, said):
    verdicts = [judged(program, nproc=nproc).verdict(oracle) for oracle in ("ends", "same sequence")]
    for verdict in verdicts:
        assert verdict.failed
        told = verdict.evidence[-1]
        assert told.startswith("the ranks diverge ") and told.endswith(said), told
        assert f" {line(program, 'parts')}`" in told
        assert verdict.data["parting"]["text"] == told


@pytest.mark.parametrize("program", ["killed", "raises_on_one", "aborts"])
def test_of_a_failure_of_its_own_nothing_is_said(judged, program):
    assert not any("the ranks diverge" in line for line in judged(program).verdict("ends").evidence)
