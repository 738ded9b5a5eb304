"""Conditions on a number of GPUs that a script writes out are known, and others are not."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from trl_lint.launch.judge.engines import of_file

pytestmark = pytest.mark.fast
TRAIN = """\
function train {{
    if {test}; then
        start="-m torch.distributed.launch --nproc_per_node=$ngpu"
    else
        start=""
    fi
    python $start train.py
}}
{given}
train
"""
DISTRIBUTED, BARE = ([], ["train.py"]), (["train.py"], [])


def started(test: str, given: str) -> tuple[list[str], list[str]]:
    """The programs that are started as one process, and as several."""
    shown = of_file(PurePath("run.sh"), TRAIN.format(test=test, given=given).encode())
    return [each.program for each in shown.bare], [each.program for each in shown.launches]


@pytest.mark.parametrize(
    ("test", "given", "starts"),
    [
        ("[[ $ngpu -gt 1 ]]", "ngpu=1", BARE),
        ('[ "$ngpu" -gt 1 ]', "ngpu=1", BARE),
        ("[ ${ngpu} -ge 2 ]", "export ngpu=1", BARE),
        ("[[ $ngpu -eq 1 ]]", "ngpu=2", BARE),
        ("[[ $ngpu -gt 1 ]]", "ngpu=8", DISTRIBUTED),
        ("[[ $ngpu -ne 1 ]]", "ngpu=8", DISTRIBUTED),
    ],
)
def test_a_number_that_is_written_out_decides(test, given, starts):
    assert started(test, given) == starts


@pytest.mark.parametrize(
    ("test", "given"),
    [
        ("[[ $ngpu -gt 1 ]]", "ngpu=$1"),
        ("[[ $ngpu -gt 1 ]]", "ngpu=${NGPU:-1}"),
        ("[[ $ngpu -gt 1 ]]", "read ngpu"),
        ("[[ $stage -gt 1 ]]", "stage=1"),
        ("[[ $ngpu -gt $least ]]", "ngpu=1"),
        ("[[ $ngpu -gt 1 && -f x ]]", "ngpu=1"),
    ],
)
def test_what_may_be_another_number_does_not(test, given):
    assert started(test, given) not in (BARE, DISTRIBUTED)
