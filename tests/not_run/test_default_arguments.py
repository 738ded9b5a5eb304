"""Findings behind a parameter that no call passes are not in the default set: it always has its default."""

import pytest
from small_projects import found, written

ROWS = """\
import shutil

def rows_of(paths, part=1.0):
    if {test}:
        shutil.rmtree("old")
    return paths
"""
TRAIN = """\
import torch.distributed as dist
from rows import rows_of
{more}

def main():
    dist.init_process_group("nccl")
    {call}


if __name__ == "__main__":
    main()
"""
REMOVED = [("rows.py", 5, "TRL008")]


def lines(folder, test="part != 1.0", call='rows_of("train")', more="", **others: str) -> list:
    files = {"rows.py": ROWS.format(test=test), "train.py": TRAIN.format(call=call, more=more)}
    return found(written(folder, files | {f"{name}.py": text for name, text in others.items()}))


@pytest.mark.parametrize(
    ("test", "call"),
    [
        ("part != 1.0", 'rows_of("train")'),
        ("part < 1 and paths", 'rows_of("train", part=1.0)'),
        ("not part", 'rows_of("train", 1.0)'),
    ],
)
def test_what_always_has_its_default(test, call, tmp_path):
    assert not lines(tmp_path, test, call)


@pytest.mark.parametrize(
    ("test", "call", "more"),
    [
        ("part == 1.0", 'rows_of("train")', ""),
        ("part != 1.0 or paths", 'rows_of("train")', ""),
        ("part != 1.0", 'rows_of("train", 0.5)', ""),
        ("part != 1.0", 'rows_of("train", part=dist.get_world_size())', ""),
        ("part != 1.0", "rows_of(*dist.names)", ""),
        ("part != 1.0", 'rows_of("train", **dist.names)', ""),
        ("part != 1.0", 'rows_of("train"); dist.use(rows_of)', ""),
        ("part != 1.0", 'rows_of("train")', "from rows import rows_of as other"),
        ("part != 1.0", 'rows_of("train")', "half = partial(rows_of, part=0.5)"),
        ("part != 1.0", 'rows_of("train")', 'NAMES = {"rows_of"}'),
    ],
)
def test_what_may_have_another_value(test, call, more, tmp_path):
    assert lines(tmp_path, test, call, more) == REMOVED


def test_a_package_that_may_be_installed(tmp_path):
    assert lines(tmp_path, __init__="") == REMOVED


@pytest.mark.parametrize(("given", "expected"), [("", []), (", part=0.5", REMOVED)])
def test_a_function_that_another_one_returns(given, expected, tmp_path):
    more = "def reader():\n    return rows_of\n"
    assert lines(tmp_path, call=f'reader()("train"{given})', more=more) == expected


SCORES = """\
import shutil
import torch
from torchmetrics import Metric

class Scores(Metric):
    def __init__(self, folder, saves=False):
        super().__init__()
        self.saves = saves
        self.folder = folder
    def compute(self):
        torch.distributed.barrier()
        if self.saves:
            shutil.rmtree("old")
"""


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        ("", False),
        ("scores.saves = False", True),
        ('setattr(scores, "saves", True)', True),
        ('Scores("b", True)', True),
        ('type("Heir", (Scores,), {})', True),
    ],
)
def test_an_attribute_that_is_set_from_a_parameter(call, is_found, tmp_path):
    call = f'scores = Scores("a"); {call}'
    train = TRAIN.format(call=call, more="").replace("from rows import rows_of", "from scores import Scores")
    places = found(written(tmp_path, {"scores.py": SCORES, "train.py": train}))
    assert places == ([("scores.py", 13, "TRL008")] if is_found else [])
