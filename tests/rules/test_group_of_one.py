"""TRL008 in programs that create a process group of one."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")

SCRIPT = """\
import torch
import torch.distributed as dist


def start(func, attempts):
    {created}
    func()


def main():
    torch.save(torch.zeros(2), "features.pth")


if __name__ == "__main__":
    start(main, 3)
"""
TRIED = """\
while True:
        try:
            dist.init_process_group("nccl", init_method="env://", world_size={size}, rank=0)
            break
        except RuntimeError as error:
            print(error)"""
ONCE = 'dist.init_process_group("nccl", init_method="env://", world_size={size}, rank=0)'


@pytest.mark.parametrize("created", [TRIED, ONCE])
def test_a_group_of_one_has_one_writer_however_often_it_is_tried(created):
    assert not SNIPPETS.findings(SCRIPT.format(created=created.format(size=1)))
    assert SNIPPETS.findings(SCRIPT.format(created=created.format(size="attempts")))


def test_a_group_of_one_under_an_option_says_nothing_of_the_others():
    created = (
        f"if attempts > torch.rand(1):\n        {ONCE.format(size=1)}\n    else:\n        dist.init_process_group()"
    )
    assert SNIPPETS.findings(SCRIPT.format(created=created))
