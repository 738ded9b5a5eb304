"""Functions that start a process group and that nothing calls: what holds all starts, and what names them."""

from __future__ import annotations

import pytest

from trl_lint.launch.judge.uncalled_starts import named_in, reads_names_of, starting_functions, without

SETUP = "def setup(rank):\n    dist.init_process_group('nccl', rank=rank)\n\n\n"
USES = "def is_main():\n    return not dist.is_initialized() or dist.get_rank() == 0\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (SETUP + USES, {"setup"}),
        (SETUP + SETUP.replace("setup", "begin"), {"setup", "begin"}),
        (USES, set()),
        (f"{SETUP}dist.init_process_group('gloo')\n", set()),
        (f"{SETUP}class Job:\n    def begin(self):\n        dist.init_process_group('gloo')\n", set()),
        (f"{SETUP}if __name__ == '__main__':\n    dist.init_process_group('gloo')\n", set()),
        (f"{SETUP}from accelerate import Accelerator\n", set()),
        (f"@command\n{SETUP}", set()),
        (SETUP.replace("setup", "test_setup"), set()),
        (f"if several:\n    {SETUP.replace('    ', '        ')}", set()),
        (f"{SETUP}globals()['set' + 'up'](0)\n", set()),
        (f"{SETUP}fire.Fire()\n", set()),
        (f"{SETUP}while:", set()),  # no Python
    ],
)
def test_the_functions_with_all_starts_of_a_file(text, names):
    assert starting_functions(text.encode()) == names


@pytest.mark.parametrize(
    ("text", "is_used"),
    [
        (SETUP, False),
        ("from dist import (\n    setup,\n    get_rank,\n)\n", False),
        ("# setup(0) first\ndef main():\n    'Call setup before this.'\n", False),
        ("def setup_all(): pass\nsetup_all()\n", False),
        ("setup(0)\n", True),
        ("dist.setup(0)\n", True),
        ("main(setup)\n", True),
        ("from dist import setup as begin\n", True),
        ("import setup\n", True),
        ("from utils.setup import begin\n", True),
        ("__all__ = ['setup']\n", True),
        ("os.system('python -c \"from dist import setup; setup(0)\"')\n", True),
        ("setup(", True),  # no Python
    ],
)
def test_what_uses_a_function(text, is_used):
    assert bool(named_in(text.encode(), {"setup"}, is_python=True)) is is_used


def test_each_mention_in_a_text_that_is_no_code_counts():
    assert named_in(b"# call setup() first\n", {"setup"}, is_python=False) == {"setup"}
    assert not named_in(b"setup_all: true\n", {"setup"}, is_python=False)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("getattr(dist, name)(0)\n", True),
        ("getattr(utils.dist, f'set{up}')(0)\n", True),
        ("importlib.import_module('utils.dist')\n", True),
        ("dist.__dict__[name](0)\n", True),
        ("getattr(distance, name)\n", False),
        ("dist.get_rank()\n", False),
    ],
)
def test_code_that_may_have_a_name_without_spelling_it(text, may):
    assert reads_names_of(text.encode(), {"dist"}) is may


def test_a_file_without_them_keeps_its_lines():
    text = "from dist import setup, rank\n" + SETUP + "rank()\n"
    assert without(text.encode(), {"setup"}) == b"from dist import _, rank\npass\n\n\n\nrank()\n"
